package policy

import (
	"fmt"
	"testing"
)

// BenchmarkModules judges a pod by one module that answers at once, with more and
// more policies that are about other resources.
func BenchmarkModules(b *testing.B) {
	for _, others := range []int{0, 1000} {
		policies := []string{cap0("p")}
		for i := range others {
			policies = append(policies, cap0(fmt.Sprintf("other-%d", i), fmt.Sprintf(`rules: [{apiGroups: [example.com], apiVersions: [v1], resources: [things%d], operations: ["*"]}]`, i%50)))
		}
		set := setOf(b, policies...).Run(&modules{})
		r := podRequest(b)
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := set.Decide(b.Context(), r); len(d.Results) != 1 {
					b.Fatal(d)
				}
			}
		})
	}
}
