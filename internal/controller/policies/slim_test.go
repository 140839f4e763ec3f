package policies

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
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
		want := policy.HasStatus(kind) || kind == "BreakglassSession"
		if kept != want {
			t.Errorf("%s keeps its status: %v, want %v", kind, kept, want)
		}
		if packed := o.Object["spec"] == nil; packed == want {
			t.Errorf("%s is packed: %v", kind, packed)
		}
	}
}

// TestSlimKeepsWhatNullsAreSeenBy: a policy that was stored before, from which kubectl
// apply had taken the nulls, cannot work, from the cache as at the front door.
func TestSlimKeepsWhatNullsAreSeenBy(t *testing.T) {
	spec := func(pattern string) string {
		return `{"rules":[{"name":"r","match":{"any":[{"resources":{"kinds":["Pod"]}}]},"validate":{"pattern":` + pattern + `}}]}`
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "sallyport.io/v1alpha1", "kind": "ClusterPolicy",
		"metadata": map[string]any{"name": "p", "annotations": map[string]string{
			corev1.LastAppliedConfigAnnotation: `{"spec":` + spec(`{"spec":{"hostPID":false,"X(volumes)":null}}`) + `}`,
		}},
		"spec": json.RawMessage(spec(`{"spec":{"hostPID":false}}`)),
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	if _, err := slim(o); err != nil {
		t.Fatal(err)
	}
	if raw, err = o.MarshalJSON(); err != nil {
		t.Fatal(err)
	}
	var sources policy.Sources
	problems := sources.Add(o.GroupVersionKind(), raw, "")
	if len(problems) != 1 || !strings.Contains(problems[0].At(), "X(volumes)") {
		t.Errorf("what cannot work is accepted: %v", problems)
	}
}
