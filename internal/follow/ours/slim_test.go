package ours

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestSlim leaves all that is read.
func TestSlim(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "Policy", "spec": map[string]any{"a": "b"}, "status": map[string]any{"c": "d"}}}
	o.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "kept": "yes"})
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
	if _, err := Slim(o); err != nil {
		t.Fatal(err)
	}
	annotations := o.GetAnnotations()
	if len(o.GetManagedFields()) > 0 || len(annotations) != 1 || annotations["kept"] != "yes" || o.Object["spec"] == nil || o.Object["status"] == nil {
		t.Errorf("left is %v", o.Object)
	}
	gone := toolscache.DeletedFinalStateUnknown{Key: "x"}
	if left, err := Slim(gone); err != nil || left != gone {
		t.Errorf("of a note of a deletion %v is left (%v)", left, err)
	}
}
