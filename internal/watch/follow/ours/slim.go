package ours

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Slim takes out of an object, which it changes, what no reader of a cache needs: who
// manages its fields, and the copy of it that kubectl apply keeps in an annotation. It
// is the transform of a cache. What is written from such a copy must be a patch of what
// changed, or be applied: nothing else would leave these as they are.
func Slim(object any) (any, error) {
	o, err := meta.Accessor(object)
	if err != nil {
		return object, nil
	}
	if annotations := o.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		o.SetAnnotations(annotations)
	}
	return Unmanaged(object)
}

// Unmanaged is Slim for readers that need the annotation.
func Unmanaged(object any) (any, error) {
	o, err := meta.Accessor(object)
	if err != nil {
		// Something else that a cache holds, such as the note of a deletion.
		return object, nil
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		// Its accessor would decode them first. One that has none is not touched: others may
		// read it by now.
		if _, there, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields"); there {
			unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
		}
		return object, nil
	}
	if o.GetManagedFields() != nil {
		o.SetManagedFields(nil)
	}
	return object, nil
}
