package policies

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sallyport-io/sallyport/internal/policy"
)

// TestSlim takes the status out of what the workflow tells of, and of nothing else: that
// of policies is compared with what is to be said, and that of a session is what it says.
func TestSlim(t *testing.T) {
	for _, kind := range policy.Kinds() {
		o := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "spec": map[string]any{"a": "b"}, "status": map[string]any{"c": "d"}}}
		if _, err := slim(o); err != nil {
			t.Fatal(err)
		}
		_, kept := o.Object["status"]
		if want := policy.Tells(kind) || kind == "BreakglassSession"; kept != want || o.Object["spec"] == nil {
			t.Errorf("%s keeps its status: %v, want %v", kind, kept, want)
		}
	}
}
