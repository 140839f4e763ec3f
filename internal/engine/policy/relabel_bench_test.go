package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// thousand are policies that each go by labels of namespaces, by keys of their own
// or all by one.
func thousand(b *testing.B) *Set {
	var documents []string
	for i := range 250 {
		number := fmt.Sprint(i)
		for _, p := range []string{exemptingTerms, denyRules, selecting, excluding} {
			kind := strings.Fields(p[strings.Index(p, "name:"):])[1]
			documents = append(documents, strings.Replace(p, "name: "+strings.Trim(kind, "}"), "name: p"+number+strings.Trim(kind, "}")+fmt.Sprint(len(documents)), 1))
		}
	}
	return setOf(b, documents...)
}

func BenchmarkRelabel(b *testing.B) {
	compiled := thousand(b)
	state := clusterOf(b, namespace("shop", nil))
	for name, change := range map[string][2]set{
		"only annotation": {set{"a": "b"}, set{"a": "b"}},
		"unrelated":       {set{"a": "b"}, set{"a": "c"}},
		"under more":      {set{"env": "dev"}, set{"env": "prod"}},
	} {
		b.Run(name, func(b *testing.B) {
			r := relabelRequest(b, state, "alice", change[0], change[1])
			b.ReportAllocs()
			for b.Loop() {
				refused := decision.Of(resultsAboutLabels(compiled.Decide(b.Context(), r)))
				if refused.Refuses() {
					b.Fatal("refused")
				}
			}
		})
	}
}
