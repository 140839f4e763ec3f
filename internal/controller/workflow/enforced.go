package workflow

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/controller/condition"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// setEnforced says whether an exception is enforced, or nothing where that is not known
// of this version of it.
func (c *Controller) setEnforced(conditions *[]metav1.Condition, kind string, meta *metav1.ObjectMeta, works bool) {
	if c.Enforced == nil {
		return
	}
	enforced, known := c.Enforced(stored.Ref{Kind: kind, Namespace: meta.Namespace, Name: meta.Name}, policy.VersionOfObject(meta), works)
	sayEnforced(conditions, meta.Generation, enforced, known)
}

// setNotNow says of an exception that holds at other times only that it is not enforced.
func (c *Controller) setNotNow(conditions *[]metav1.Condition, generation int64, state v1alpha1.ExceptionState) {
	if c.Enforced != nil {
		sayEnforced(conditions, generation, metav1.Condition{
			Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionFalse, Reason: string(state), Message: "it excuses nothing at this time, by notBefore and by when it ends",
		}, true)
	}
}

// setApprovedEnforced says the same of a request that was approved: it excuses where a
// replica has both it and its answer. Of another there is nothing to enforce.
func (c *Controller) setApprovedEnforced(conditions *[]metav1.Condition, q *v1alpha1.PolicyExceptionRequest, answer *v1alpha1.PolicyExceptionResponse, excuses bool) {
	if c.Enforced == nil {
		return
	}
	if !excuses || answer == nil {
		apimeta.RemoveStatusCondition(conditions, v1alpha1.ConditionEnforced)
		return
	}
	enforced, known := c.Enforced(stored.Ref{Kind: exception.KindRequest, Namespace: q.Namespace, Name: q.Name}, policy.VersionOfObject(q), true)
	if enforced.Status == metav1.ConditionTrue {
		enforced, known = c.Enforced(stored.Ref{Kind: exception.KindResponse, Name: answer.Name}, policy.VersionOfObject(answer), true)
	}
	sayEnforced(conditions, q.Generation, enforced, known)
}

// sayEnforced takes away what was said of another version where nothing is known of
// this one.
func sayEnforced(conditions *[]metav1.Condition, generation int64, enforced metav1.Condition, known bool) {
	if known {
		enforced.ObservedGeneration, enforced.Message = generation, condition.Message(enforced.Message)
		apimeta.SetStatusCondition(conditions, enforced)
	} else if existing := apimeta.FindStatusCondition(*conditions, v1alpha1.ConditionEnforced); existing != nil && existing.ObservedGeneration != generation {
		apimeta.RemoveStatusCondition(conditions, v1alpha1.ConditionEnforced)
	}
}
