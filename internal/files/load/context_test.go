package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const reader = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: reader}
spec:
  contextAware: [{group: networking.k8s.io, version: v1, resource: ingresses}, {apiVersion: v1, kind: Namespace}, {group: a.example, version: v1, resource: things}]
  rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {metadata: {name: "?*"}}}}]
---
`

// TestWhatPoliciesMayRead makes sure that files are kept as far as some policy was
// granted what is in them, wherever it stands, and no further.
func TestWhatPoliciesMayRead(t *testing.T) {
	t.Parallel()
	ingress := "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web%s}}\n---\n"
	for name, c := range map[string]struct {
		text                 string
		given, none, ignored []string
		problem              string
	}{
		"granted": {
			text:  fmt.Sprintf(ingress, ", namespace: shop") + reader + "{apiVersion: v1, kind: Namespace, metadata: {name: shop, namespace: odd}}\n---\n{apiVersion: a.example/v1, kind: Thing, metadata: {name: t}}",
			given: []string{`Ingress {"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"web","namespace":"shop"}}`, `Namespace {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`, `Thing {"apiVersion":"a.example/v1","kind":"Thing","metadata":{"name":"t","namespace":"default"}}`},
		},
		"not granted":                          {text: reader + "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: YWJj}}", ignored: []string{"Secret s"}},
		"by nobody":                            {text: fmt.Sprintf(ingress, ""), ignored: []string{"Ingress web"}},
		"none of it":                           {text: reader + "{apiVersion: networking.k8s.io/v1, kind: IngressList, items: []}", none: []string{"Ingress"}},
		"an empty list of what is not granted": {text: reader + "{apiVersion: v1, kind: SecretList, items: []}"},
		"in a list": {
			text:  reader + "{apiVersion: networking.k8s.io/v1, kind: IngressList, items: [{metadata: {name: a}}]}",
			given: []string{`Ingress {"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"a","namespace":"default"}}`},
		},
		"without a name": {text: reader + "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {}}", problem: "metadata.name: is missing"},
		"twice":          {text: reader + fmt.Sprintf(ingress, "") + fmt.Sprintf(ingress, ", namespace: default"), given: []string{`Ingress {"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"web","namespace":"default"}}`}, problem: "is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := Policies([]string{"-"}, strings.NewReader(c.text))
			var given, none, ignored []string
			for _, g := range result.Given {
				given = append(given, g.Kind.Kind+" "+string(g.JSON))
			}
			for _, kind := range result.None {
				none = append(none, kind.Kind)
			}
			for _, i := range result.Ignored {
				ignored = append(ignored, i.Object)
			}
			if diff := cmp.Diff([][]string{c.given, c.none, c.ignored}, [][]string{given, none, ignored}); diff != "" {
				t.Error(diff)
			}
			if got := result.Problems.Error(); c.problem == "" && len(result.Problems) > 0 || !strings.Contains(got, c.problem) {
				t.Errorf("problems %q, want %q", got, c.problem)
			}
		})
	}
}
