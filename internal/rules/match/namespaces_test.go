package match

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestNamespacesInclude compares filters by what is written.
func TestNamespacesInclude(t *testing.T) {
	compile := func(f *v1alpha1.NamespaceFilter) *Namespaces {
		n, errs := CompileNamespaces(f, nil)
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		return n
	}
	term := func(value string) []metav1.LabelSelector {
		return []metav1.LabelSelector{{MatchLabels: map[string]string{"team": value}}}
	}
	names := func(patterns ...string) *v1alpha1.NamespaceFilter {
		return &v1alpha1.NamespaceFilter{Patterns: patterns}
	}
	for name, c := range map[string]struct {
		n, other *v1alpha1.NamespaceFilter
		want     bool
	}{
		"none in none":            {nil, nil, true},
		"none in one":             {names("a"), nil, true},
		"one in none":             {nil, names("a"), false},
		"a pattern":               {names("a*"), names("ab", "a-*"), true},
		"another name":            {names("a*"), names("ab", "b"), false},
		"the same term":           {&v1alpha1.NamespaceFilter{SelectorTerms: term("x")}, &v1alpha1.NamespaceFilter{SelectorTerms: term("x")}, true},
		"another term":            {&v1alpha1.NamespaceFilter{Patterns: []string{"a"}, SelectorTerms: term("x")}, &v1alpha1.NamespaceFilter{SelectorTerms: term("y")}, false},
		"a term in every name":    {names("*"), &v1alpha1.NamespaceFilter{SelectorTerms: term("x")}, true},
		"a term in another name":  {names("a*"), &v1alpha1.NamespaceFilter{SelectorTerms: term("x")}, false},
		"a name beside the terms": {&v1alpha1.NamespaceFilter{SelectorTerms: term("x")}, names("a"), false},
	} {
		if got := compile(c.n).Includes(compile(c.other)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
