package policy

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// withCondition returns a copy of a policy with the condition in its status, and
// whether that changes anything.
func withCondition(object *unstructured.Unstructured, condition metav1.Condition) (*unstructured.Unstructured, bool, error) {
	var status v1alpha1.PolicyStatus
	if raw, ok := object.Object["status"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &status); err != nil {
			return nil, false, fmt.Errorf("status has another shape than expected: %w", err)
		}
	}
	fresh := apimeta.SetStatusCondition(&status.Conditions, condition)
	if !fresh && status.ObservedGeneration == condition.ObservedGeneration {
		return nil, false, nil
	}
	status.ObservedGeneration = condition.ObservedGeneration
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return nil, false, fmt.Errorf("status cannot be written down: %w", err)
	}
	changed := object.DeepCopy()
	changed.Object["status"] = raw
	return changed, true, nil
}
