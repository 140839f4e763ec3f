package policy

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// BenchmarkDecide judges an exec with one policy about it, and a review that no
// policy is about, with more and more policies that are about something else.
func BenchmarkDecide(b *testing.B) {
	state := clusterOf(b, namespace("shop", nil), podNamed("shop", "web", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web"} }))
	for _, others := range []int{0, 500} {
		policies := []string{strict}
		for i := range others {
			policies = append(policies, fmt.Sprintf(`
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: other-%d}
spec:
  podSecurityRules:
    appliesTo: {subresources: [log]}
    blockFactors: [hostNetwork]
`, i))
		}
		set := setOf(b, policies...)
		for name, r := range map[string]*request.Request{
			"exec": exec(state, "shop", "web"),
			"get": {Door: request.Access, Verb: "get", ClusterName: "prod-eu", Cluster: state, Namespace: "shop", Name: "web",
				Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}},
		} {
			b.Run(fmt.Sprintf("%s/others=%d", name, others), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					set.Decide(b.Context(), r)
				}
			})
		}
	}
}
