package policy

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestHolds only where just these objects were taken, in these versions.
func TestHolds(t *testing.T) {
	object := func(name string, generation int64, version string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		o.SetAPIVersion("sallyport.io/v1alpha1")
		o.SetKind("DenyPolicy")
		o.SetName(name)
		o.SetUID(types.UID(name))
		o.SetGeneration(generation)
		o.SetResourceVersion(version)
		return o
	}
	f := NewFeed(NewStore(pod.Default(), time.Now, exception.Options{}))
	// One that cannot work is answered for, and so in force too.
	f.Take([]*unstructured.Unstructured{object("a", 1, "1"), object("b", 1, "2")})
	for _, c := range []struct {
		name    string
		objects []*unstructured.Unstructured
		want    bool
	}{
		{"these", []*unstructured.Unstructured{object("a", 1, "1"), object("b", 1, "2")}, true},
		{"with another status", []*unstructured.Unstructured{object("a", 1, "9"), object("b", 1, "2")}, true},
		{"a later version", []*unstructured.Unstructured{object("a", 2, "9"), object("b", 1, "2")}, false},
		{"one more", []*unstructured.Unstructured{object("a", 1, "1"), object("b", 1, "2"), object("c", 1, "3")}, false},
		{"one less", []*unstructured.Unstructured{object("a", 1, "1")}, false},
		{"another", []*unstructured.Unstructured{object("a", 1, "1"), object("c", 1, "3")}, false},
	} {
		if got := f.Holds(c.objects); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
