package policy

import (
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// longestMessage is what the API server takes as the message of a condition.
const longestMessage = 32768

// withConditions returns a copy of a policy with the conditions in its status, and
// whether that changes anything.
func withConditions(object *unstructured.Unstructured, conditions []metav1.Condition) (*unstructured.Unstructured, bool, error) {
	var status v1alpha1.PolicyStatus
	if raw, ok := object.Object["status"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &status); err != nil {
			return nil, false, fmt.Errorf("status has another shape than expected: %w", err)
		}
	}
	fresh := status.ObservedGeneration != object.GetGeneration()
	for _, c := range conditions {
		if len(c.Message) > longestMessage {
			c.Message = strings.ToValidUTF8(c.Message[:longestMessage-3], "") + "..."
		}
		fresh = apimeta.SetStatusCondition(&status.Conditions, c) || fresh
	}
	if !fresh {
		return nil, false, nil
	}
	status.ObservedGeneration = object.GetGeneration()
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return nil, false, fmt.Errorf("status cannot be written down: %w", err)
	}
	changed := object.DeepCopy()
	changed.Object["status"] = raw
	return changed, true, nil
}
