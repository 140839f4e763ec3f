package policyserver

import (
	"context"
	"errors"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	limits "github.com/sallyport-io/sallyport/internal/controller/condition"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// updateStatus writes what became of a server and of its policies into their status.
func (c *Controller) updateStatus(ctx context.Context, l *reconciliation, problem error) error {
	ready, reason, message := c.stateOf(l, problem)
	rights := c.rights(ctx, l.server)
	conditions := []metav1.Condition{rights}
	if !l.broken {
		// Of one that cannot work, whoever compiles it tells why.
		conditions = append(conditions, condition(v1alpha1.ConditionReady, ready, reason, message))
	}
	errs := []error{c.updateServerStatus(ctx, l.server, conditions...)}
	for _, p := range l.policies {
		switch available := l.deployment != nil && l.deployment.Status.AvailableReplicas > 0; {
		case p.broken:
			// Whoever compiles policies tells that.
		case p.problem != "":
			errs = append(errs, c.updatePolicyStatus(ctx, p, false, p.reason, p.problem))
		case l.without[p.id] != "":
			errs = append(errs, c.updatePolicyStatus(ctx, p, false, "NoRoom", l.without[p.id]))
		case l.refused[p.id] != "":
			errs = append(errs, c.updatePolicyStatus(ctx, p, false, "WebhookRefused", l.refused[p.id]))
		case l.current[p.id] && replicas(l.server) == 0:
			errs = append(errs, c.updatePolicyStatus(ctx, p, false, "SwitchedOff", fmt.Sprintf("PolicyServer %s has no pods, and so its failurePolicy stands for the policy", l.server.Name)))
		case l.current[p.id] && available && notLoaded(p) != nil:
			found := notLoaded(p)
			errs = append(errs, c.updatePolicyStatus(ctx, p, false, found.Reason, fmt.Sprintf("at PolicyServer %s: %s", l.server.Name, found.Message)))
		case l.current[p.id] && available:
			errs = append(errs, c.updatePolicyStatus(ctx, p, true, "InForce", fmt.Sprintf("the policy is in force, at PolicyServer %s", l.server.Name)))
		case l.current[p.id]:
			errs = append(errs, c.updatePolicyStatus(ctx, p, false, "PolicyServerNotReady", fmt.Sprintf("no pod of PolicyServer %s is ready, and so its failurePolicy stands for the policy", l.server.Name)))
		default:
			errs = append(errs, c.updatePolicyStatus(ctx, p, false, reason, fmt.Sprintf("not in force yet, or not as it is now: PolicyServer %s: %s", l.server.Name, message)))
		}
	}
	return errors.Join(errs...)
}

// notLoaded is what the pods say of a module that they could not load; nil where
// they say nothing such of this version of the policy.
func notLoaded(p *hosted) *metav1.Condition {
	found := apimeta.FindStatusCondition(p.status.Conditions, v1alpha1.ConditionModuleReady)
	if found == nil || found.Status == metav1.ConditionTrue || found.ObservedGeneration != p.object.GetGeneration() {
		return nil
	}
	return found
}

// stateOf says whether a server does what it is to do.
func (c *Controller) stateOf(l *reconciliation, problem error) (ready bool, reason, message string) {
	var taken *inTheWay
	switch {
	case errors.Is(problem, errNoCallers):
		return false, "NoCallers", problem.Error()
	case errors.Is(problem, errBroken):
		return false, "PolicyServerCannotWork", problem.Error()
	case errors.As(problem, &taken):
		return false, "InTheWay", problem.Error()
	case apierrors.IsForbidden(problem):
		return false, "Forbidden", "Sallyport's own account may not do that: " + problem.Error()
	case problem != nil:
		return false, "CannotBeMade", problem.Error()
	case replicas(l.server) == 0:
		return false, "SwitchedOff", "it has no pods, and so what its policies are about is answered by their failure policies"
	case !rolledOut(l.deployment):
		s := &l.deployment.Status
		return false, "RollingOut", fmt.Sprintf("of %d pods, %d have the policies as they are now, and %d are ready", replicas(l.server), s.UpdatedReplicas, s.AvailableReplicas)
	case len(l.current) < l.fine():
		return false, "RollingOut", "the webhooks are being put in force"
	}
	return true, "RolledOut", fmt.Sprintf("%d ready, with %d policies in force", l.deployment.Status.AvailableReplicas, len(l.current))
}

// condition is one of a status; the generation is filled in where it is set.
func condition(kind string, ok bool, reason, message string) metav1.Condition {
	found := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: limits.Message(message)}
	if ok {
		found.Status = metav1.ConditionTrue
	}
	return found
}

func (c *Controller) updateServerStatus(ctx context.Context, s *v1alpha1.PolicyServer, conditions ...metav1.Condition) error {
	return c.setStatus(ctx, s, &s.Status, conditions...)
}

func (c *Controller) updatePolicyStatus(ctx context.Context, p *hosted, ready bool, reason, message string) error {
	here := c.Here != nil && c.Here(p.ref)
	if !ready && p.reason != "OwnNamespace" && here {
		message += "; meanwhile Sallyport judges by it itself, with its own account"
	}
	conditions := []metav1.Condition{condition(v1alpha1.ConditionReady, ready, reason, message)}
	if !here {
		conditions = append(conditions, c.enforced(p, ready, reason, message))
	}
	return c.setStatus(ctx, p.object, p.status, conditions...)
}

// enforced is the condition Enforced of a policy that is for its server to judge by:
// that the pods have it and that its webhook leads to them is what makes it ready.
func (c *Controller) enforced(p *hosted, ready bool, reason, message string) metav1.Condition {
	if ready && c.Observe {
		return condition(v1alpha1.ConditionEnforced, false, modulepolicy.NotEnforcedAtServer, stored.ReasonObserving+": "+stored.Observing)
	}
	if ready && c.LetIn && p.spec.FailurePolicy != v1alpha1.FailurePolicyIgnore {
		return condition(v1alpha1.ConditionEnforced, false, modulepolicy.NotEnforcedAtServer, message+"; while it cannot be asked, all is let in, and the policy says Fail (--webhook-failure-policy Ignore)")
	}
	if ready {
		return condition(v1alpha1.ConditionEnforced, true, modulepolicy.EnforcedAtServer, message+", and its webhook asks for it there")
	}
	return condition(v1alpha1.ConditionEnforced, false, modulepolicy.NotEnforcedAtServer, reason+": "+message)
}

// setStatus writes conditions, if they change anything. What was changed since it was
// read is looked at again by the next sweep.
func (c *Controller) setStatus(ctx context.Context, o client.Object, status *v1alpha1.PolicyStatus, conditions ...metav1.Condition) error {
	before, old := o.DeepCopyObject().(client.Object), status.DeepCopy()
	status.ObservedGeneration = o.GetGeneration()
	for _, found := range conditions {
		found.ObservedGeneration = o.GetGeneration()
		found.LastTransitionTime = metav1.NewTime(c.Clock.Now())
		apimeta.SetStatusCondition(&status.Conditions, found)
	}
	if apiequality.Semantic.DeepEqual(old, status) {
		return nil
	}
	err := c.client.Status().Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("the status of %s cannot be written: %w", c.what(o, o.GetNamespace(), o.GetName()), err)
	}
	return nil
}
