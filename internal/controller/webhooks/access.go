package webhooks

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/controller/enforced"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
)

// Authorizer says whether the API server asks Sallyport's side door about a request;
// false for known where that was not found out yet. Find finds it out at once.
type Authorizer interface {
	Asks(policy.AskedDoor) (asks, known bool, err error)
	Find(context.Context, policy.AskedDoor)
}

// accessEnforced says whether some door asks about all that a DenyPolicy is about;
// false where it is not known yet.
func (c *Controller) accessEnforced(a *policy.AskedAccess, has *catalogue, hooks []hook, own string) (metav1.Condition, bool) {
	condition := metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Reason: "Asked", Message: "the API server asks about all that the policy is about"}
	var open []gap
	side := 0
	known := true
	for _, d := range a.Doors {
		front := gap{atDoor(d), "the front door hears of no such request"}
		if d.Operation != "" {
			found := gaps(question{}, []cell{front.cell}, has, hooks)
			if len(found) == 0 && has.find(front.cell) != nil {
				continue
			}
			front.why = "no webhook asks"
			if len(found) > 0 {
				front = found[0]
			}
		}
		if c.Authorizer == nil {
			open = append(open, gap{front.cell, front.why})
			continue
		}
		asks, found, err := c.Authorizer.Asks(d)
		switch {
		case err != nil:
			return unknown(err), true
		case !found:
			known = false
		case asks:
			side++
		default:
			open = append(open, gap{front.cell, front.why + ", and the authorizer does not ask about " + d.String()})
		}
	}
	var parts []string
	if a.PodLabels {
		parts = append(parts, forPodLabels...)
	}
	if a.NamespaceLabels {
		parts = append(parts, forNamespaceLabels...)
	}
	labels, err := shippedGaps(parts, has, hooks, own)
	if err != nil {
		return unknown(err), true
	}
	open = append(open, labels...)
	switch {
	case len(open) > 0:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "NotAsked", words(open)+asShipped
	case side > 0:
		if side == len(a.Doors) && len(parts) == 0 {
			condition.Reason = enforced.BySideDoor
		}
		condition.Message = "at least one API server asks about all that the policy is about, some of it by its authorizer only, which members of system:masters are not asked by"
	}
	return condition, known || len(open) > 0
}

// atDoor is a request as the front door hears of it.
func atDoor(d policy.AskedDoor) cell {
	name := d.Resource
	if name == policy.StandIn {
		// No webhook is about it, and no reader is to wonder what it is.
		name = "other resources"
	}
	if d.Subresource != "" {
		name += "/" + d.Subresource
	}
	return cell{d.Group, name, d.Operation}
}
