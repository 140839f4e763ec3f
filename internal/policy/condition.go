package policy

import (
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/contextgate"
)

// longestMessage is what the API server takes as the message of a condition.
const longestMessage = 32768

// statusOf reads the status of a policy.
func statusOf(object *unstructured.Unstructured) (v1alpha1.PolicyStatus, error) {
	var status v1alpha1.PolicyStatus
	if raw, ok := object.Object["status"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &status); err != nil {
			return status, fmt.Errorf("status has another shape than expected: %w", err)
		}
	}
	return status, nil
}

// said is what problems say, without whose they are.
func said(p Problems) string {
	said := make([]string, len(p))
	for i := range p {
		said[i] = p[i].At()
	}
	return strings.Join(said, "; ")
}

// withConditions returns a copy of a policy with the conditions in its status and
// without those of the types in gone, and whether that changes anything. The first
// condition says which generation was looked at.
func withConditions(object *unstructured.Unstructured, status v1alpha1.PolicyStatus, conditions []metav1.Condition, gone ...string) (*unstructured.Unstructured, bool, error) {
	fresh := status.ObservedGeneration != conditions[0].ObservedGeneration
	for _, condition := range conditions {
		if len(condition.Message) > longestMessage {
			condition.Message = strings.ToValidUTF8(condition.Message[:longestMessage-3], "") + "..."
		}
		fresh = apimeta.SetStatusCondition(&status.Conditions, condition) || fresh
	}
	for _, kind := range gone {
		fresh = apimeta.RemoveStatusCondition(&status.Conditions, kind) || fresh
	}
	if !fresh {
		return nil, false, nil
	}
	status.ObservedGeneration = conditions[0].ObservedGeneration
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return nil, false, fmt.Errorf("status cannot be written down: %w", err)
	}
	changed := object.DeepCopy()
	changed.Object["status"] = raw
	return changed, true, nil
}

// contextConditions says what the status of a policy should say about what it
// reads.
type contextConditions func(policy *contextgate.Policy, existing []metav1.Condition, generation int64, since time.Time) []metav1.Condition

// OnStatus has f say what the status of a policy that may read the cluster should
// say about that; see contexthost.Host.Conditions. It must be called before Run.
func (i *Informer) OnStatus(f func(policy *contextgate.Policy, existing []metav1.Condition, generation int64, since time.Time) []metav1.Condition) {
	i.context = f
}

// Retell has the status of policies written anew, as far as it has changed.
func (i *Informer) Retell() {
	select {
	case i.stale <- struct{}{}:
	default:
	}
}

// conditions are those that a policy should have, ahead of all whether it is in
// force.
func (i *Informer) conditions(ready metav1.Condition, d *decoded, status *v1alpha1.PolicyStatus) (conditions []metav1.Condition, gone []string) {
	conditions = append(conditions, ready)
	if len(d.problems) == 0 && len(d.notes) > 0 {
		conditions = append(conditions, metav1.Condition{
			Type: v1alpha1.ConditionGaps, Status: metav1.ConditionTrue, Reason: "LeftOpen",
			Message: said(d.notes), ObservedGeneration: ready.ObservedGeneration,
		})
	} else {
		gone = append(gone, v1alpha1.ConditionGaps)
	}
	switch {
	case i.context == nil || len(d.problems) > 0:
	case d.context == nil:
		gone = append(gone, v1alpha1.ConditionContextDenied, v1alpha1.ConditionContextReady)
	default:
		conditions = append(conditions, i.context(d.context, status.Conditions, ready.ObservedGeneration, d.since)...)
	}
	return conditions, gone
}
