package exception

import (
	"testing"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// TestReach says to who approves a request how far it would reach.
func TestReach(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"its own":               {"{exceptions: [{policyName: p}], exclude: {any: [{resources: {kinds: [Pod]}}]}}", "namespace dev"},
		"its own, named":        {"{exceptions: [{policyName: p}], exclude: {any: [{resources: {kinds: [Pod], namespaces: [dev]}}]}}", "namespace dev"},
		"others that are named": {"{exceptions: [{policyName: p}], exclude: {any: [{resources: {kinds: [Pod], namespaces: [b, a]}}]}}", "namespaces a, b"},
		"some that are named":   {"{exceptions: [{policyName: p}], exclude: {any: [{resources: {kinds: [Pod], namespaces: [b]}}, {resources: {kinds: [Pod]}}]}}", "namespace dev"},
		"a pattern":             {"{exceptions: [{policyName: p}], exclude: {any: [{resources: {kinds: [Pod], namespaces: ['b-*']}}]}}", "namespace b-*"},
		"every one":             {"{exceptions: [{policyName: p}], exclude: {any: [{resources: {kinds: [Pod], namespaces: ['*']}}]}}", "every namespace"},
		"two entries": {"{exceptions: [{policyName: p, exclude: {any: [{resources: {kinds: [Pod]}}]}}, {policyName: q, exclude: {any: [{resources: {kinds: [Pod], namespaces: [b]}}]}}]}",
			"namespaces b, dev"},
	} {
		t.Run(name, func(t *testing.T) {
			q := read[v1alpha1.PolicyExceptionRequest](t, "metadata: {name: q, namespace: dev}\nspec: "+c.spec)
			sources := Sources{Requests: []source.Of[*v1alpha1.PolicyExceptionRequest]{{Object: q}}}
			set, problems := Compile(sources, Options{Began: now})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := set.State(KindRequest, "dev", "q").Reach; got != c.want {
				t.Errorf("reach %q, want %q", got, c.want)
			}
		})
	}
	for _, filters := range []string{"[{resources: {kinds: [Pod]}}]", "[{resources: {kinds: [Pod], namespaces: [b]}}, {resources: {kinds: [Pod]}}]"} {
		q := read[v1alpha1.PolicyExceptionRequest](t, "metadata: {name: q, namespace: dev}\nspec: {exceptions: [{policyName: p}], exclude: {any: "+filters+"}}")
		set, _ := Compile(Sources{Requests: []source.Of[*v1alpha1.PolicyExceptionRequest]{{Object: q}}}, Options{Began: now, TrustedNamespaces: []string{"d*"}})
		if got := set.State(KindRequest, "dev", "q").Reach; got != "every namespace" {
			t.Errorf("%s, in a namespace that is trusted: reach %q", filters, got)
		}
	}
}
