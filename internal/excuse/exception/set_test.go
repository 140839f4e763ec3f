package exception

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// TestNoSet excuses nothing, and knows nothing.
func TestNoSet(t *testing.T) {
	var none *Set
	if none.Any() || none.Len() != 0 || none.Warnings() != nil || none.Exceptions() != nil || none.Rules() == nil || none.Options().Trial ||
		none.State(KindException, "dev", "e").Problem != nil || none.Widened(t.Context(), nil, now, false) != nil {
		t.Error("no set knows something")
	}
	if n, troubles := finds(t.Context(), none, podIn("dev", now)); n > 0 || troubles != nil {
		t.Errorf("no set excuses %d times, %v", n, troubles)
	}
	s := sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", "{policies: [p], requireReason: true}")
	if got := none.WithRules(s); len(got.ExceptionPolicies) != 1 {
		t.Errorf("%+v", got)
	}
	empty, _ := Compile(Sources{}, Options{})
	if empty.Any() {
		t.Error("an empty set holds something")
	}
	var ledger *Ledger
	if count, last := ledger.Drain("u"); count != 0 || !last.IsZero() {
		t.Error("no ledger counts")
	}
	if ledger.Restore("u", 3); ledger.Used() {
		t.Error("no ledger was used")
	}
	if NewLedger().use("") != nil {
		t.Error("what has no UID is counted")
	}
}

// TestKindsOfTheWorkflow has all kinds in it but the rules about them.
func TestKindsOfTheWorkflow(t *testing.T) {
	for _, kind := range append([]string{"ClusterPolicy", ""}, Kinds...) {
		if got := InWorkflow(kind); got != (kind != KindExceptionPolicy && slices.Contains(Kinds, kind)) {
			t.Errorf("%q: %t", kind, got)
		}
	}
	if InWorkflow(KindExceptionPolicy) || !InWorkflow(KindResponse) {
		t.Error("the rules about exceptions are written in their workflow")
	}
}

// TestStates says what became of an exception.
func TestStates(t *testing.T) {
	ends := []Period{{Until: now}}
	for name, c := range map[string]struct {
		state State
		want  v1alpha1.ExceptionState
	}{
		"wrong": {State{Problem: errors.New("x"), Periods: []Period{{}}}, v1alpha1.ExceptionNoEffect}, "nothing": {State{}, v1alpha1.ExceptionNoEffect},
		"over": {State{Periods: ends}, v1alpha1.ExceptionExpired}, "without an end": {State{Periods: []Period{{}}}, v1alpha1.ExceptionActive},
		"later": {State{Periods: []Period{{From: now.Add(1)}}}, v1alpha1.ExceptionPending},
	} {
		if got := c.state.Exception(now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestWhyNot tells of what might have excused, and of no more than a few that are over.
func TestWhyNot(t *testing.T) {
	const pods = "match: {resources: {kinds: [Pod]}}"
	unread := errors.New("connection refused")
	for name, c := range map[string]struct {
		specs     []string
		policies  []string
		at        time.Time
		elsewhere bool
		excused   int
		says      []string
	}{
		"in force":                 {[]string{"{exceptions: [{policyName: p}], " + pods + "}"}, nil, now, false, 1, nil},
		"twice":                    {[]string{"{exceptions: [{policyName: p}, {policyName: p, ruleNames: [r]}], " + pods + "}"}, nil, now, false, 1, nil},
		"at no time":               {[]string{"{exceptions: [{policyName: p}], " + pods + "}"}, nil, time.Time{}, false, 0, nil},
		"over":                     {[]string{"{exceptions: [{policyName: p}], " + pods + ", expiresAt: '2026-11-28T12:00:00Z'}"}, nil, now, false, 0, []string{"it ended at 2026-11-28T12:00:00Z"}},
		"not yet":                  {[]string{"{exceptions: [{policyName: p}], " + pods + ", notBefore: '2026-11-28T12:00:01Z'}"}, nil, now, false, 0, []string{"not valid before 2026-11-28T12:00:01Z"}},
		"over, about another":      {[]string{"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod], names: ['*x']}}, expiresAt: '2026-11-28T12:00:00Z'}"}, nil, now, false, 0, nil},
		"many over":                {slices.Repeat([]string{"{exceptions: [{policyName: p}], " + pods + ", expiresAt: '2026-11-28T12:00:00Z'}"}, 5), nil, now, false, 0, []string{"it ended", "it ended", "it ended"}},
		"many over, and one not":   {append(slices.Repeat([]string{"{exceptions: [{policyName: p}], " + pods + ", expiresAt: '2026-11-28T12:00:00Z'}"}, 5), "{exceptions: [{policyName: p}], "+pods+"}"), nil, now, false, 1, []string{"it ended", "it ended", "it ended"}},
		"elsewhere":                {[]string{"{exceptions: [{policyName: p}], " + pods + "}"}, nil, now, true, 0, []string{"in its own cluster"}},
		"elsewhere, many":          {slices.Repeat([]string{"{exceptions: [{policyName: p}], " + pods + "}"}, 5), nil, now, true, 0, []string{"own cluster", "own cluster", "own cluster"}},
		"elsewhere, about another": {[]string{"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod], names: ['*x']}}}"}, nil, now, true, 0, nil},
		"elsewhere, and over":      {[]string{"{exceptions: [{policyName: p}], " + pods + ", expiresAt: '2026-11-28T12:00:00Z'}"}, nil, now, true, 0, nil},
		"no input":                 {[]string{"{exceptions: [{policyName: p}], " + pods + ", conditions: [{name: c, expression: 'true'}]}"}, nil, now, false, 0, []string{"its conditions cannot be evaluated: connection refused"}},
		"no input, and over":       {[]string{"{exceptions: [{policyName: p}], " + pods + ", expiresAt: '2026-11-28T12:00:00Z', conditions: [{name: c, expression: 'true'}]}"}, nil, now, false, 0, nil},
		"limited":                  {[]string{"{exceptions: [{policyName: p}], " + pods + "}"}, []string{"{policies: [p], requireReason: true}"}, now, false, 0, []string{"give a reason"}},
		"limited, and wrong":       {[]string{"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, duration: soon}"}, []string{"{policies: [p], requireReason: true}"}, now, false, 0, nil},
		"elsewhere, by its name":   {[]string{"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod], namespaces: [dev]}}}"}, nil, now, true, 0, []string{"in its own cluster"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sources(t, c.specs[0], c.policies...)
			for i, spec := range c.specs[1:] {
				more := sources(t, spec).Exceptions
				more[0].Object.Name = fmt.Sprint("e", i)
				s.Exceptions = append(s.Exceptions, more...)
			}
			set, _ := Compile(s, Options{})
			q := podIn("dev", c.at)
			q.Elsewhere, q.Input = c.elsewhere, func(bool) (*expression.Input, error) { return nil, unread }
			excused, troubles := finds(t.Context(), set, q)
			if excused != c.excused || len(troubles) != len(c.says) {
				t.Fatalf("excused %d times, %v; want %d, %q", excused, troubles, c.excused, c.says)
			}
			for i, says := range c.says {
				if !strings.Contains(troubles[i].String(), says) {
					t.Errorf("%s, want %q", troubles[i], says)
				}
			}
		})
	}
	// What fails tells of itself; what is found does not tell of others.
	set, _ := Compile(sources(t, "{exceptions: [{policyName: p}], "+pods+", conditions: [{name: c, expression: 'object.spec.replicas > 1'}]}"), Options{})
	q := podIn("dev", now)
	q.Input = func(bool) (*expression.Input, error) { return &expression.Input{Object: map[string]any{}}, nil }
	if n, troubles := finds(t.Context(), set, q); n > 0 || len(troubles) != 1 || !strings.Contains(troubles[0].Err.Error(), "cannot be evaluated") {
		t.Errorf("excused %d times, %v", n, troubles)
	}
	waiting := asked(t, plainRequest)
	waiting.ExceptionPolicies = sources(t, "{exceptions: [{policyName: p}], "+pods+"}", "{policies: [p], requireReason: true}").ExceptionPolicies
	set, _ = Compile(waiting, Options{})
	if n, troubles := finds(context.Background(), set, podIn("dev", now)); n > 0 || len(troubles) > 0 {
		t.Errorf("what is only asked for: excused %d times, %v", n, troubles)
	}
}

// TestIndexIsBounded has no look-up cost more the more exceptions there are, and finds
// them all the same.
func TestIndexIsBounded(t *testing.T) {
	var s Sources
	for i := range maxLengths + 20 {
		for range 2 {
			e := read[v1alpha1.ClusterPolicyException](t, fmt.Sprintf("metadata: {name: e%d}\nspec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {resources: {kinds: [Pod], names: ['%s*']}}}", len(s.ClusterExceptions), strings.Repeat("a", i+1)))
			s.ClusterExceptions = append(s.ClusterExceptions, source.Of[*v1alpha1.ClusterPolicyException]{Object: e})
		}
	}
	set, problems := Compile(s, Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(set.index.lengths)))); n != maxLengths || n != len(set.index.lengths) {
		t.Errorf("%d lengths of prefixes are looked up", n)
	}
	q := podIn("dev", now)
	for _, length := range []int{1, 10, maxLengths, maxLengths + 20} {
		q.Targets[0].Name = strings.Repeat("a", length)
		if n, _ := finds(t.Context(), set, q); n != 2*length {
			t.Errorf("a name of %d letters is excused %d times", length, n)
		}
	}
	many := listOf(30, "r%d")
	set, problems = Compile(sources(t, "{exceptions: [{policyName: p, ruleNames: "+many+"}], match: {resources: {kinds: [Pod, Job, Deployment], names: [a, b]}}}"), Options{})
	if len(problems) > 0 || len(keysOf(set.Exceptions()[0])) > maxKeys {
		t.Errorf("%v, and %d keys", problems, len(keysOf(set.Exceptions()[0])))
	}
	set, problems = Compile(sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod], names: [a, bb, '?c']}}}"), Options{})
	if len(problems) > 0 || len(set.index.lengths) > 0 {
		t.Errorf("%v, and prefixes of %v letters are looked up", problems, set.index.lengths)
	}
}

// TestTwice takes the first of two of one name.
func TestTwice(t *testing.T) {
	s := sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}")
	s.Exceptions = append(s.Exceptions, sources(t, "{exceptions: [{policyName: q}], match: {resources: {kinds: [Pod]}}}").Exceptions...)
	s.Requests = append(asked(t, plainRequest).Requests, asked(t, plainRequest).Requests...)
	set, problems := Compile(s, Options{})
	if n, _ := finds(t.Context(), set, podIn("dev", now)); n != 1 || set.Len() != 1 || len(problems) != 2 {
		t.Errorf("excused %d times by %d, %v", n, set.Len(), problems)
	}
}

// TestTrustedIsFoundEverywhere has an exception of a trusted namespace found in others,
// which it does not name.
func TestTrustedIsFoundEverywhere(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		policies := []string{"{policies: [p], trustedNamespaces: [dev]}"}
		if !trusted {
			policies = nil
		}
		set, problems := Compile(sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", policies...), Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, elsewhere := range []bool{false, true} {
			q := podIn("prod", now)
			q.Elsewhere = elsewhere
			if n, _ := finds(t.Context(), set, q); (n == 1) != trusted {
				t.Errorf("trusted %t, elsewhere %t: excused %d times", trusted, elsewhere, n)
			}
		}
	}
}
