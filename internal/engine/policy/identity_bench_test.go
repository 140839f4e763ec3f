package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// BenchmarkIdentities judges objects that carry no identity, which is what most
// are, with no source and with ten.
func BenchmarkIdentities(b *testing.B) {
	var sources []string
	for i := range 10 {
		way := []string{"podAnnotation: {}", fmt.Sprintf("csiVolume: {driver: csi-%d.example.com}", i), fmt.Sprintf("projectedToken: {audience: a%d}", i), fmt.Sprintf("podCertificate: {signerName: example.com/s%d}", i)}[i%4]
		sources = append(sources, fmt.Sprintf("apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: s%d}\nspec: {key: key-%d, %s}", i, i, way))
	}
	state := identityCluster(b)
	for _, n := range []int{0, 10} {
		set := setOf(b, sources[:n]...)
		large := strings.Replace(podYAML("app", "a: b", "app:1"), "containers: [", "containers: ["+strings.Repeat("{name: side, image: side, env: [{name: A, value: some-value-of-common-length}]}, ", 20), 1)
		for name, r := range map[string]*request.Request{
			"create-pod":       asked(b, state, stranger, "pods", "", "", podYAML("app", "a: b", "app:1")),
			"create-large-pod": asked(b, state, stranger, "pods", "", "", large),
			"update-pod":       asked(b, state, stranger, "pods", "", podYAML("app", "a: b", "app:1"), podYAML("app", "a: b", "app:1")),
			"deployment":       asked(b, state, stranger, "deployments", "", "", deploymentYAML("", "a: b", "app:1")),
		} {
			b.Run(fmt.Sprintf("%s/sources=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					set.DecideIdentities(&call.Call{Ctx: b.Context(), Request: r, Exceptions: set.Excusing}, nil)
				}
			})
		}
	}
}
