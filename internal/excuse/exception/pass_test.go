package exception

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func read[T any](t testing.TB, text string) *T {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object := new(T)
	if err := apijson.UnmarshalStrict(raw, object); err != nil {
		t.Fatal(err)
	}
	return object
}

// sources reads the specs of a PolicyException of namespace dev, and of
// ExceptionPolicies.
func sources(t testing.TB, exception string, policies ...string) Sources {
	t.Helper()
	var s Sources
	e := read[v1alpha1.PolicyException](t, "metadata: {name: e, namespace: dev, creationTimestamp: \"2026-11-28T12:00:00Z\"}\nspec: "+exception)
	s.Exceptions = append(s.Exceptions, source.Of[*v1alpha1.PolicyException]{Object: e})
	for i, text := range policies {
		p := read[v1alpha1.ExceptionPolicy](t, "metadata: {name: rules-"+string(rune('a'+i))+"}\nspec: "+text)
		s.ExceptionPolicies = append(s.ExceptionPolicies, source.Of[*v1alpha1.ExceptionPolicy]{Object: p})
	}
	return s
}

func TestExceptionPolicies(t *testing.T) {
	const plain = "{exceptions: [{policyName: p, ruleNames: [r]}], match: {resources: {kinds: [Pod], names: [x]}}, reason: why, duration: 10d}"
	cases := map[string]struct {
		exception string
		policies  []string
		path      string // of the problem; empty: none
	}{
		"no rules":                              {plain, nil, ""},
		"short enough":                          {plain, []string{"{policies: [p], maxDuration: 10d}"}, ""},
		"too long":                              {plain, []string{"{policies: [p], maxDuration: 9d}"}, "spec.duration"},
		"too long for the stricter of two":      {plain, []string{"{policies: [p], maxDuration: 90d}", "{policies: [\"*\"], maxDuration: 1d}"}, "spec.duration"},
		"too long, by its end":                  {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, expiresAt: \"2027-11-28T12:00:00Z\"}", []string{"{policies: [p], maxDuration: 30d}"}, "spec.duration"},
		"forever":                               {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", []string{"{policies: [p], maxDuration: 9d}"}, "spec.duration"},
		"forever, to another policy":            {"{exceptions: [{policyName: q}], match: {resources: {kinds: [Pod]}}}", []string{"{policies: [p], maxDuration: 9d}"}, ""},
		"limits of another namespace":           {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", []string{"{policies: [p], namespaces: [prod], maxDuration: 9d}"}, ""},
		"limits of its namespace":               {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", []string{"{policies: [p], namespaces: [\"d*\"], maxDuration: 9d}"}, "spec.duration"},
		"a later start counts":                  {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, notBefore: \"2027-01-01T00:00:00Z\", expiresAt: \"2027-01-09T00:00:00Z\"}", []string{"{policies: [p], maxDuration: 9d}"}, ""},
		"without a reason":                      {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, reason: \" \"}", []string{"{policies: [p], requireReason: true}"}, "spec.reason"},
		"with a reason":                         {plain, []string{"{policies: [p], requireReason: true}"}, ""},
		"no wildcards":                          {plain, []string{"{policies: [p], forbidWildcards: true}"}, ""},
		"a wildcard in a name":                  {"{exceptions: [{policyName: p, ruleNames: [r]}], match: {resources: {kinds: [Pod], names: [\"x*\"]}}}", []string{"{policies: [p], forbidWildcards: true}"}, "spec.match.resources.names"},
		"a wildcard in a rule":                  {"{exceptions: [{policyName: p, ruleNames: [\"r?\"]}], match: {resources: {kinds: [Pod], names: [x]}}}", []string{"{policies: [p], forbidWildcards: true}"}, "spec.exceptions[0].ruleNames"},
		"every rule":                            {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod], names: [x]}}}", []string{"{policies: [p], forbidWildcards: true}"}, "spec.exceptions[0].ruleNames"},
		"a wildcard in the short form":          {"{exceptions: [{policyName: p, ruleNames: [r]}], match: {kind: [Pod], name: \"*\"}}", []string{"{policies: [p], forbidWildcards: true}"}, "spec.match.name"},
		"nobody may":                            {plain, []string{"{policies: [p], allowedSubjects: []}"}, "spec.exceptions"},
		"nobody may, of any policy":             {plain, []string{"{policies: [\"*\"], allowedSubjects: []}"}, "spec.exceptions"},
		"nobody may, of another":                {plain, []string{"{policies: [q], allowedSubjects: []}"}, ""},
		"a wildcard in a selector":              {"{exceptions: [{policyName: p, ruleNames: [r]}], match: {resources: {kinds: [Pod], selector: {matchLabels: {a: \"*\"}}}}}", []string{"{policies: [p], forbidWildcards: true}"}, "spec.match.resources.selector.matchLabels[a]"},
		"an empty match":                        {"{exceptions: [{policyName: p}], match: {}}", nil, "spec.match"},
		"an empty match that is allowed":        {"{exceptions: [{policyName: p}], match: {}}", []string{"{policies: [p], allowEmptyMatch: true}"}, ""},
		"an empty match, allowed to another":    {"{exceptions: [{policyName: p}], match: {}}", []string{"{policies: [q], allowEmptyMatch: true}"}, "spec.match"},
		"an empty match, allowed to one of two": {"{exceptions: [{policyName: p}, {policyName: q}], match: {}}", []string{"{policies: [p], allowEmptyMatch: true}"}, "spec.match"},
		"any policy":                            {"{exceptions: [{policyName: \"*\"}], match: {resources: {kinds: [Pod]}}}", nil, "spec.exceptions[0].policyName"},
		"any policy that is allowed":            {"{exceptions: [{policyName: \"*\"}], match: {resources: {kinds: [Pod]}}}", []string{"{policies: [\"*\"], allowAnyPolicy: true}"}, ""},
		"a pattern wider than what is allowed":  {"{exceptions: [{policyName: \"team-*\"}], match: {resources: {kinds: [Pod]}}}", []string{"{policies: [\"team-a*\"], allowAnyPolicy: true}"}, "spec.exceptions[0].policyName"},
		"a pattern that ? seems to cover":       {"{exceptions: [{policyName: \"team-*\"}], match: {resources: {kinds: [Pod]}}}", []string{"{policies: [\"team-?\"], allowAnyPolicy: true}"}, "spec.exceptions[0].policyName"},
		"a pattern narrower than allowed":       {"{exceptions: [{policyName: \"team-a*\"}], match: {resources: {kinds: [Pod]}}}", []string{"{policies: [\"team-*\"], allowAnyPolicy: true}"}, ""},
		"a pattern is limited by all it meets":  {"{exceptions: [{policyName: \"*\"}], match: {resources: {kinds: [Pod]}}}", []string{"{policies: [\"*\"], allowAnyPolicy: true}", "{policies: [x], maxDuration: 1d}"}, "spec.duration"},
		"another namespace":                     {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod], namespaces: [prod]}}}", nil, "spec.match.resources.namespaces[0]"},
		"its own namespace":                     {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod], namespaces: [dev]}}}", nil, ""},
		"another namespace, trusted":            {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod], namespaces: [prod]}}}", []string{"{policies: [p], trustedNamespaces: [dev]}"}, ""},
		"another namespace, others trusted":     {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod], namespaces: [prod]}}}", []string{"{policies: [p], trustedNamespaces: [devs]}"}, "spec.match.resources.namespaces[0]"},
		"a start, and no end":                   {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, notBefore: \"2027-01-01T00:00:00Z\"}", nil, ""},
		"an end before its start":               {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, notBefore: \"2027-01-01T00:00:00Z\", expiresAt: \"2027-01-01T00:00:00Z\"}", nil, "spec.notBefore"},
		"two ends":                              {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, duration: 1d, expiresAt: \"2027-01-01T00:00:00Z\"}", nil, "spec.duration"},
		"no end that can be read":               {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, duration: soon}", nil, "spec.duration"},
		"a control":                             {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, podSecurity: [{controlName: Host Namespaces}]}", nil, ""},
		"no control":                            {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, podSecurity: []}", nil, "spec.podSecurity"},
		"no policy":                             {"{exceptions: [], match: {resources: {kinds: [Pod]}}}", nil, "spec.exceptions"},
		"a policy without a name":               {"{exceptions: [{policyName: \"\"}], match: {resources: {kinds: [Pod]}}}", nil, "spec.exceptions[0].policyName"},
		"a policy without its namespace":        {"{exceptions: [{policyName: \"/p\"}], match: {resources: {kinds: [Pod]}}}", nil, "spec.exceptions[0].policyName"},
		"a policy of two namespaces":            {"{exceptions: [{policyName: \"a/b/p\"}], match: {resources: {kinds: [Pod]}}}", nil, "spec.exceptions[0].policyName"},
		"no rule":                               {"{exceptions: [{policyName: p, ruleNames: []}], match: {resources: {kinds: [Pod]}}}", nil, "spec.exceptions[0].ruleNames"},
		"a rule without a name":                 {"{exceptions: [{policyName: p, ruleNames: [r, \"\"]}], match: {resources: {kinds: [Pod]}}}", nil, "spec.exceptions[0].ruleNames[1]"},
		"a rule with a space":                   {"{exceptions: [{policyName: p, ruleNames: [\" r\"]}], match: {resources: {kinds: [Pod]}}}", nil, "spec.exceptions[0].ruleNames[0]"},
		"a pattern of namespaces of policies":   {"{exceptions: [{policyName: \"*/p\"}], match: {resources: {kinds: [Pod]}}}", nil, "spec.exceptions[0].policyName"},
		"what has no namespace":                 {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Node]}}}", nil, "spec.match.resources.kinds[0]"},
		"what has no namespace, trusted":        {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Node]}}}", []string{"{policies: [p], trustedNamespaces: [dev]}"}, ""},
		"trusted for another policy":            {"{exceptions: [{policyName: p}], match: {resources: {kinds: [Node]}}}", []string{"{policies: [q], trustedNamespaces: [dev]}"}, "spec.match.resources.kinds[0]"},
		"a Policy of its own namespace":         {"{exceptions: [{policyName: local}], match: {resources: {kinds: [Pod]}}}", []string{"{policies: [dev/local], maxDuration: 1d}"}, "spec.duration"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, problems := Compile(sources(t, c.exception, c.policies...), Options{})
			switch {
			case c.path == "" && len(problems) > 0:
				t.Errorf("problems %v, want none", problems)
			case c.path != "" && (len(problems) == 0 || problems[0].Path != c.path):
				t.Errorf("problems %v, want one at %s", problems, c.path)
			}
		})
	}
}

func TestMayAsk(t *testing.T) {
	compile := func(t *testing.T, policy string) *Rules {
		t.Helper()
		rules := sources(t, "{exceptions: [{policyName: p, ruleNames: [r]}], match: {resources: {kinds: [Pod]}}}", policy)
		rules.Exceptions = nil
		set, problems := Compile(rules, Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return set.Rules()
	}
	alice := &request.User{Name: "alice", Groups: []string{"security"}}
	asked := []v1alpha1.ExceptedRules{{PolicyName: "p"}}
	for name, c := range map[string]struct {
		policy string
		may    bool
	}{
		"nothing said":           {"{policies: [p]}", true},
		"the user":               {"{policies: [p], allowedSubjects: [{kind: User, name: alice}]}", true},
		"her group":              {"{policies: [p], allowedSubjects: [{kind: Group, name: security}]}", true},
		"another user":           {"{policies: [p], allowedSubjects: [{kind: User, name: bob}]}", false},
		"nobody":                 {"{policies: [p], allowedSubjects: []}", false},
		"nobody, another policy": {"{policies: [q], allowedSubjects: []}", true},
	} {
		t.Run(name, func(t *testing.T) {
			if by := compile(t, c.policy).MayAsk(alice, "dev", asked); (by == "") != c.may {
				t.Errorf("forbidden by %q", by)
			}
		})
	}
}

// TestWhoWrote goes by whoever wrote an exception that was there before the rule,
// as far as their name says whether they may.
func TestWhoWrote(t *testing.T) {
	for name, c := range map[string]struct {
		by, subjects string
		keptOut      bool
	}{
		"who may":                    {"bob", "{kind: User, name: bob}", false},
		"who may not":                {"alice", "{kind: User, name: bob}", true},
		"a group, which is not kept": {"alice", "{kind: Group, name: security}", false},
		"nobody knows":               {"", "{kind: User, name: bob}", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", "{policies: [p], allowedSubjects: ["+c.subjects+"]}")
			if c.by != "" {
				s.Exceptions[0].Object.Annotations = map[string]string{v1alpha1.AnnotationCreatedBy: c.by}
			}
			if _, problems := Compile(s, Options{}); (len(problems) > 0) != c.keptOut {
				t.Errorf("problems %v", problems)
			}
		})
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30d": 30 * 24 * time.Hour, "1d12h": 36 * time.Hour, "2w": 14 * 24 * time.Hour, "90m": 90 * time.Minute, "1h1s": time.Hour + time.Second,
		"": 0, "d": 0, "d1h": 0, "1hd": 0, "1": 0, "1x": 0, "-1d": 0, "0d": 0, "1d 2h": 0, "1.5h": 0, "99999999999w": 0, "9223372036854775808s": 0, "+1d": 0, "soon": 0,
	} {
		got, err := ParseDuration(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestPeriod holds to the second, and never without a time.
func TestPeriod(t *testing.T) {
	p := Period{From: now, Until: now.Add(time.Second)}
	for name, c := range map[string]struct {
		at   time.Time
		want bool
	}{
		"before": {now.Add(-1), false}, "at its beginning": {now, true}, "just before its end": {now.Add(time.Second - 1), true},
		"at its end": {now.Add(time.Second), false}, "no time": {time.Time{}, false},
	} {
		if got := p.Holds(c.at); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (Period{}).Holds(time.Time{}) {
		t.Error("an exception forever excuses a request without a time")
	}
}

// TestIndexFindsEverything compares the index with asking every pass.
func TestIndexFindsEverything(t *testing.T) {
	matches := []string{
		"{resources: {kinds: [Pod]}}", "{resources: {kinds: [Pod], names: [a]}}", "{resources: {kinds: [\"*\"], names: [a, b]}}",
		"{resources: {kinds: [Pod/exec], namespaces: [dev]}}", "{resources: {kinds: [Pod], names: [\"a*\"]}}", "{subjects: [{kind: User, name: alice}]}",
		"{any: [{resources: {kinds: [Deployment], names: [a]}}, {resources: {kinds: [Pod], names: [b]}}]}",
		"{all: [{kind: [Pod], name: [a]}, {namespace: dev}]}", "{resources: {kinds: [Namespace], namespaces: [dev]}}",
	}
	rules := []string{"{policyName: p}", "{policyName: p, ruleNames: [r]}", "{policyName: p, ruleNames: [autogen-r]}", "{policyName: p, ruleNames: [\"*\"]}", "{policyName: q, ruleNames: [r, s]}"}
	var s Sources
	for i, m := range matches {
		for j, r := range rules {
			name := "e" + string(rune('a'+i)) + string(rune('a'+j))
			e := read[v1alpha1.ClusterPolicyException](t, "metadata: {name: "+name+"}\nspec: {exceptions: ["+r+"], match: "+m+"}")
			s.ClusterExceptions = append(s.ClusterExceptions, source.Of[*v1alpha1.ClusterPolicyException]{Object: e})
		}
	}
	set, problems := Compile(s, Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	found := 0
	for _, kind := range []string{"Pod", "Deployment", "Namespace", "Service"} {
		for _, name := range []string{"a", "b", "dev"} {
			for _, subresource := range []string{"", "exec"} {
				for _, rule := range []string{"r", "autogen-r", "t"} {
					for _, policy := range []string{"p", "q", "x"} {
						target := &match.Target{Kind: schema.GroupVersionKind{Version: "v1", Kind: kind}, Subresource: subresource, Namespace: "dev", Name: name, User: &request.User{Name: "alice"}}
						if kind == "Namespace" {
							target.Namespace = ""
						}
						q := &Query{PolicyKind: "ClusterPolicy", Policy: policy, Rule: rule, BaseRule: "r", Targets: []*match.Target{target}, Now: now}
						want := map[string]bool{}
						for _, p := range set.Exceptions() {
							if applies, err := p.applies(t.Context(), q); err == nil && applies && named(p, q) {
								want[p.Names.Name] = true
							}
						}
						got := map[string]bool{}
						set.Find(t.Context(), q, func(p *Exception) bool { got[p.Names.Name] = true; return true })
						if len(got) != len(want) {
							t.Errorf("%s/%s %s, rule %s/%s: found %v, want %v", kind, subresource, name, policy, rule, got, want)
						}
						found += len(got)
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("nothing was found at all")
	}
}

func named(p *Exception, q *Query) bool {
	named, lacks := p.names(q)
	return named && lacks == nil
}

func TestLedger(t *testing.T) {
	l := NewLedger()
	u := l.use("uid")
	u.add(now)
	u.add(now.Add(-time.Hour))
	if !l.Used() || l.Used() {
		t.Error("uses are not said, or said twice")
	}
	if count, last := l.Drain("uid"); count != 2 || !last.Equal(now) {
		t.Errorf("%d uses, the last at %v", count, last)
	}
	if count, last := l.Drain("uid"); count != 0 || !last.IsZero() {
		t.Errorf("%d uses are drained twice, the last at %v", count, last)
	}
	if l.Restore("uid", 2); !l.Used() {
		t.Error("what was given back is not said to have been used")
	}
	if count, _ := l.Drain("uid"); count != 2 {
		t.Errorf("%d uses after they were given back", count)
	}
	if count, _ := l.Drain("other"); count != 0 {
		t.Errorf("%d uses of nothing", count)
	}
}
