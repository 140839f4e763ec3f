package replicas

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BenchmarkContent sums up 11,000 objects, as a replica does after a change.
func BenchmarkContent(b *testing.B) {
	objects := make([]*unstructured.Unstructured, 11000)
	for i := range objects {
		objects[i] = object(fmt.Sprint("policy-", i), 1, i+1)
	}
	before := bornOf(objects, nil)
	b.ReportAllocs()
	for b.Loop() {
		contentOf(objects)
		before = bornOf(objects, before)
	}
}
