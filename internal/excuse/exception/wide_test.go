package exception

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// ofEveryKind is a Pass of every kind, which names a policy.
func ofEveryKind(t *testing.T, policy string) *Exception {
	t.Helper()
	m, errs := match.Compile(&v1alpha1.Match{Any: []v1alpha1.ResourceFilter{{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"*"}}}}}, field.NewPath("match"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	rules, errs := readRules([]v1alpha1.ExceptedRules{{PolicyName: policy}}, "", field.NewPath("exceptions"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return &Exception{match: m, rules: rules}
}

// TestWide finds what excuses all of a rule, and not what counts no more, is not
// approved for it, or holds in another namespace.
func TestWide(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		policy string
		change func(*Exception)
		want   bool
	}{
		"a name":                    {"p", func(*Exception) {}, true},
		"a pattern":                 {"?", func(*Exception) {}, true},
		"another":                   {"q", func(*Exception) {}, false},
		"one that counts no more":   {"p", func(p *Exception) { p.void = errors.New("too long") }, false},
		"one that is not approved":  {"p", func(p *Exception) { p.rules[0].pinned = true }, false},
		"over":                      {"p", func(p *Exception) { p.Period.Until = now }, false},
		"of another namespace":      {"p", func(p *Exception) { p.bound, p.namespace = true, "dev" }, false},
		"of a namespace it left":    {"p", func(p *Exception) { p.namespace = "dev" }, true},
		"under conditions":          {"p", func(p *Exception) { p.conditions = new(expression.Conditions) }, false},
		"of a pattern of two names": {"?", func(p *Exception) { p.rules = append(p.rules, p.rules[0]) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := ofEveryKind(t, c.policy)
			c.change(p)
			wide := (&Set{passes: []*Exception{p}}).Wide()
			q := &Query{PolicyKind: "ClusterPolicy", Policy: "p", Rule: "r", BaseRule: "r", Now: now}
			if by, _ := wide.Excusing(q, &Excused{}); (by != nil) != c.want {
				t.Errorf("excused by %v, want %v", by, c.want)
			}
			if len(wide.patterns) > 1 {
				t.Errorf("%d times by its patterns", len(wide.patterns))
			}
		})
	}
	if by, _ := (*Set)(nil).Wide().Excusing(&Query{Policy: "p", Now: now}, &Excused{}); by != nil {
		t.Error("no set excuses something")
	}
}

// TestNextOfTheWide is when the first of them begins or ends after a time.
func TestNextOfTheWide(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 29, hour, 0, 0, 0, time.UTC) }
	var passes []*Exception
	for _, period := range []Period{{at(14), at(16)}, {Until: at(13)}, {From: at(15)}, {}} {
		p := ofEveryKind(t, "p")
		p.Period = period
		passes = append(passes, p)
	}
	wide := (&Set{passes: passes}).Wide()
	for after, want := range map[time.Time]time.Time{at(12): at(13), at(13): at(14), at(14): at(15), at(15): at(16), at(16): {}} {
		if got := wide.Next(after); !got.Equal(want) {
			t.Errorf("after %v: %v, want %v", after, got, want)
		}
	}
}
