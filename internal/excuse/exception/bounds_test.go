package exception

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

func listOf(n int, format string) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf(format, i)
	}
	return "[" + strings.Join(entries, ", ") + "]"
}

func requestWith(t testing.TB, exceptions, filters string) Sources {
	t.Helper()
	q := read[v1alpha1.PolicyExceptionRequest](t, "metadata: {name: q, namespace: dev}\nspec: {exceptions: "+exceptions+", exclude: {any: "+filters+"}}")
	return Sources{Requests: []source.Of[*v1alpha1.PolicyExceptionRequest]{{Object: q}}}
}

// TestBounds refuses what would cost everybody much for one object.
func TestBounds(t *testing.T) {
	const entry, filter = "{policyName: p%d}", "{resources: {kinds: [Pod], names: [n%d]}}"
	for name, c := range map[string]struct {
		sources Sources
		path    string
	}{
		"as much as may be":   {requestWith(t, listOf(maxRules, entry), listOf(128, filter)), ""},
		"too many policies":   {requestWith(t, listOf(maxRules+1, entry), "[{resources: {kinds: [Pod]}}]"), "spec.exceptions"},
		"too many filters":    {requestWith(t, "[{policyName: p}]", listOf(129, filter)), "spec.exclude.any"},
		"too many rules":      {requestWith(t, "[{policyName: p, ruleNames: "+listOf(maxRules+1, "r%d")+"}]", "[{resources: {kinds: [Pod]}}]"), "spec.exceptions[0].ruleNames"},
		"too many, exception": {sources(t, "{exceptions: "+listOf(maxRules+1, entry)+", match: {resources: {kinds: [Pod]}}}"), "spec.exceptions"},
		"too long a reason":   {sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}, reason: "+strings.Repeat("x", maxReason+1)+"}"), "spec.reason"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Compile(c.sources, Options{Began: now})
			if c.path == "" && len(problems) > 0 || c.path != "" && (len(problems) == 0 || problems[0].Path != c.path) {
				t.Errorf("problems %v, want one at %q", problems, c.path)
			}
		})
	}
}

// BenchmarkSharedBlock compiles the largest request: its entries share one block
// and its conditions.
func BenchmarkSharedBlock(b *testing.B) {
	s := requestWith(b, listOf(maxRules, "{policyName: p%d}"), listOf(128, "{resources: {kinds: [Pod], names: [n%d]}}"))
	for i := range 16 {
		s.Requests[0].Object.Spec.Conditions = append(s.Requests[0].Object.Spec.Conditions, v1alpha1.CELCondition{Name: fmt.Sprint("c", i), Expression: "object.metadata.name != ''"})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Compile(s, Options{Began: now}); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

// TestBrokenRules excuse nobody from what they would limit.
func TestBrokenRules(t *testing.T) {
	for name, c := range map[string]struct {
		rules string
		kept  bool
	}{
		"about the policy":          {"{policies: [p], maxDuration: 30days}", false},
		"about every policy":        {"{policies: ['*'], maxDuration: 30days}", false},
		"about another policy":      {"{policies: [q], maxDuration: 30days}", true},
		"about another namespace":   {"{policies: [p], namespaces: [prod], maxDuration: 30days}", true},
		"about no policy, which is": {"{policies: [], maxDuration: 30d}", true},
	} {
		t.Run(name, func(t *testing.T) {
			set, problems := Compile(sources(t, "{exceptions: [{policyName: p}], match: {resources: {kinds: [Pod]}}}", c.rules), Options{})
			if (set.Len() == 1) != c.kept || len(problems) == 0 {
				t.Errorf("%d exceptions, problems %v", set.Len(), problems)
			}
		})
	}
}
