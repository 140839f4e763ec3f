package load

import (
	"testing"

	"github.com/sallyport-io/sallyport/examples"
)

// BenchmarkParse reads a Deployment out of YAML, which is most of what checking
// a manifest costs.
func BenchmarkParse(b *testing.B) {
	data, err := examples.Files.ReadFile("workloads/good/web.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for _, problems := range Parse("web.yaml", data) {
			if len(problems) > 0 {
				b.Fatal(problems)
			}
		}
	}
}
