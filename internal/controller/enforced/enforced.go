// Package enforced says of policies and exceptions whether they are enforced: whether
// the API server asks about what they are about, reaches Sallyport when it does, and
// every replica has them in force.
package enforced

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// Part says one part of it of a version of an object; false where it cannot be said
// yet.
type Part func(ref stored.Ref, version policy.Version) (metav1.Condition, bool)

// Parts are what the condition Enforced is made of.
type Parts struct {
	// Asked is whether the API server asks about what a policy is about, Reached whether
	// its webhooks get an answer from Sallyport then, and InForce whether every replica
	// has the object in force.
	Asked, Reached, InForce Part
	// Observe is set where the installation refuses nothing.
	Observe bool
}

// BySideDoor is the reason of a part that says that the authorizer asks about all of it,
// and so no webhook has to.
const BySideDoor = "AskedBySideDoor"

// asked reports whether the API server has to ask about what objects of a kind are
// about: whatever refuses requests, which is what can be excused.
func asked(kind string) bool { return exception.CanBeExcused(kind) }

// excuse are the kinds of which it is enough that they are in force: exceptions, and
// requests with their answers.
var excuse = []string{exception.KindException, exception.KindClusterException, exception.KindRequest, exception.KindResponse}

// Condition is the condition Enforced of a version of an object; false where it cannot
// be said yet, or is never said of its kind. works is false for one that cannot do what
// it says.
func (p *Parts) Condition(ref stored.Ref, version policy.Version, works bool) (metav1.Condition, bool) {
	var parts []Part
	enforced := metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue}
	switch {
	case asked(ref.Kind):
		parts = []Part{p.Asked, p.Reached, p.InForce}
		enforced.Reason = "Asked"
	case slices.Contains(excuse, ref.Kind):
		parts = []Part{p.InForce}
		enforced.Reason = "InForce"
	default:
		return metav1.Condition{}, false
	}
	if !works {
		return metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionFalse, Reason: "CannotWork", Message: "this version cannot work; the condition Ready says why"}, true
	}
	if p.Observe && asked(ref.Kind) {
		return metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionFalse, Reason: stored.ReasonObserving, Message: stored.Observing}, true
	}
	for i := range parts {
		part := parts[i]
		if part == nil {
			continue
		}
		condition, known := part(ref, version)
		if condition.Reason == BySideDoor && condition.Status == metav1.ConditionTrue {
			// No webhook is asked about any of it.
			parts[i+1] = nil
		}
		if !known || condition.Status != metav1.ConditionTrue {
			return condition, known
		}
		if enforced.Message != "" && condition.Message != "" {
			enforced.Message += "; "
		}
		enforced.Message += condition.Message
	}
	return enforced, true
}
