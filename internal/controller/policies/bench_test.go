package policies

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BenchmarkInOrder sorts 10,000 exceptions, as is done after each change.
func BenchmarkInOrder(b *testing.B) {
	items := make([]*unstructured.Unstructured, 10_000)
	for i := range items {
		items[i] = &unstructured.Unstructured{}
		items[i].Object = map[string]any{"apiVersion": "sallyport.io/v1alpha1", "kind": "PolicyException", "metadata": map[string]any{"namespace": "shop", "name": fmt.Sprintf("e-%05d", i)}}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(items), func(i, k int) { items[i], items[k] = items[k], items[i] })
	b.ReportAllocs()
	for b.Loop() {
		if sorted := inOrder(items); sorted[0].GetName() != "e-00000" || sorted[9_999].GetName() != "e-09999" {
			b.Fatal("they are not in order")
		}
	}
}
