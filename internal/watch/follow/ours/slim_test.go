package ours

import (
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestSlimAgain writes nothing to what is slim already, which others read.
func TestSlimAgain(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "Policy", "metadata": map[string]any{"name": "p"}}}
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
	if _, err := Slim(o); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	for range 4 {
		reading.Go(func() {
			for range 1000 {
				_, _ = Slim(o)
				_ = o.GetName()
			}
		})
	}
	reading.Wait()
}

// BenchmarkSlim takes the managed fields out of an exception as it is listed.
func BenchmarkSlim(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "e", "managedFields": []any{map[string]any{
			"manager": "kubectl", "operation": "Update", "apiVersion": "sallyport.io/v1alpha1", "time": "2026-11-02T09:00:00Z", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:spec": map[string]any{".": map[string]any{}, "f:exceptions": map[string]any{}, "f:match": map[string]any{".": map[string]any{}, "f:any": map[string]any{}}, "f:reason": map[string]any{}}},
		}}}}}
		if _, err := Slim(o); err != nil {
			b.Fatal(err)
		}
	}
}

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
