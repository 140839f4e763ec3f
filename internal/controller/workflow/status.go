package workflow

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/controller/condition"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// updateRequests writes into each request what became of it.
func (c *Controller) updateRequests(ctx context.Context, all *everything) error {
	var errs []error
	for i := range all.requests {
		q := &all.requests[i]
		changed := q.DeepCopy()
		s := &changed.Status
		state := all.set.State(exception.KindRequest, q.Namespace, q.Name)
		s.State, s.Reason, s.Response, s.Approver, s.AnsweredAt, s.ExpiresAt = v1alpha1.RequestPending, "", "", "", nil, nil
		s.ObservedGeneration, s.Overlaps, s.Reach = q.Generation, nil, state.Reach
		if len(all.answersTo(q)) > 0 {
			s.Reason = state.Unanswered
		}
		if a := all.answerTo(q); a != nil {
			s.Reason, s.Response, s.Approver, s.AnsweredAt = a.Spec.Reason, a.Name, a.Spec.Approver, a.Spec.ApprovalTime
			s.State = v1alpha1.RequestDenied
			if a.Spec.Status == v1alpha1.ResponseApproved {
				s.State, s.ExpiresAt, s.Overlaps = v1alpha1.RequestApproved, a.Spec.ExpiresAt, all.overlaps[q.UID]
				if e := a.Spec.ExpiresAt; e != nil && !all.now.Before(e.Time) {
					s.State = v1alpha1.RequestExpired
				}
			}
		}
		s.UnusedSince = c.unusedSince(s.State == v1alpha1.RequestApproved, s.LastUsedAt, s.AnsweredAt, all.now)
		setReady(&s.Conditions, q.Generation, state.Problem, "the request can be approved")
		c.setApprovedEnforced(&s.Conditions, q, all.answerTo(q), s.State == v1alpha1.RequestApproved && state.Problem == nil)
		errs = append(errs, c.write(ctx, q, changed, apiequality.Semantic.DeepEqual(q.Status, changed.Status)))
		// What is written about the request after this builds on it.
		*q = *changed
	}
	return errors.Join(errs...)
}

// updateResponses says of each response whether it grants something.
func (c *Controller) updateResponses(ctx context.Context, all *everything) error {
	var errs []error
	for i := range all.responses {
		a := &all.responses[i]
		changed := a.DeepCopy()
		s := &changed.Status
		state := all.set.State(exception.KindResponse, "", a.Name)
		s.State, s.ExpiresAt, s.ObservedGeneration = v1alpha1.ExceptionNoEffect, a.Spec.ExpiresAt, a.Generation
		problem := state.Problem
		switch {
		case state.Effective && a.Spec.ExpiresAt != nil && !all.now.Before(a.Spec.ExpiresAt.Time):
			s.State = v1alpha1.ExceptionExpired
		case state.Effective:
			s.State = v1alpha1.ExceptionActive
		case problem == nil && a.Spec.Status == v1alpha1.ResponseApproved:
			problem = errors.New(cannotTell(all.set.State(exception.KindRequest, a.Spec.Namespace, a.Spec.Name).Unanswered))
		}
		setReady(&s.Conditions, a.Generation, problem, "the answer counts")
		errs = append(errs, c.write(ctx, a, changed, apiequality.Semantic.DeepEqual(a.Status, changed.Status)))
	}
	return errors.Join(errs...)
}

func cannotTell(why string) string {
	if why == "" {
		return "the request that it answers has changed since, or is gone"
	}
	return why
}

// updateExceptions says of each exception whether it is in force.
func (c *Controller) updateExceptions(ctx context.Context, all *everything) error {
	var errs []error
	effects := c.Set().EffectsOfExceptions()
	for i := range all.exceptions {
		e := &all.exceptions[i]
		if status := c.exceptionStatus(&e.Status, exception.KindException, &e.ObjectMeta, all, effects); !apiequality.Semantic.DeepEqual(&e.Status, status) {
			changed := e.DeepCopy()
			changed.Status = *status
			errs = append(errs, c.write(ctx, e, changed, false))
		}
	}
	for i := range all.wide {
		e := &all.wide[i]
		if status := c.exceptionStatus(&e.Status, exception.KindClusterException, &e.ObjectMeta, all, effects); !apiequality.Semantic.DeepEqual(&e.Status, status) {
			changed := e.DeepCopy()
			changed.Status = *status
			errs = append(errs, c.write(ctx, e, changed, false))
		}
	}
	return errors.Join(errs...)
}

// exceptionStatus is what the status of an exception should be, which is before now.
func (c *Controller) exceptionStatus(before *v1alpha1.PolicyExceptionStatus, kind string, meta *metav1.ObjectMeta, all *everything, effects func(*exception.Exception) stored.Problems) *v1alpha1.PolicyExceptionStatus {
	s := before.DeepCopy()
	state := all.set.State(kind, meta.Namespace, meta.Name)
	s.State, s.ExpiresAt, s.ObservedGeneration, s.Overlaps = state.Exception(all.now), nil, meta.Generation, all.overlaps[meta.UID]
	if len(state.Periods) > 0 && !state.Periods[0].Until.IsZero() {
		s.ExpiresAt = &metav1.Time{Time: state.Periods[0].Until}
	}
	created := meta.CreationTimestamp
	s.UnusedSince = c.unusedSince(s.State == v1alpha1.ExceptionActive, s.LastUsedAt, &created, all.now)
	setReady(&s.Conditions, meta.Generation, state.Problem, "the exception can do what it says")
	setApproved(&s.Conditions, meta.Generation, all.approval(all.policies, meta.UID, state.Problem))
	setEffective(&s.Conditions, meta.Generation, all.passes[meta.UID], effects)
	if s.State == v1alpha1.ExceptionExpired || s.State == v1alpha1.ExceptionPending {
		c.setNotNow(&s.Conditions, meta.Generation, s.State)
	} else {
		c.setEnforced(&s.Conditions, kind, meta, state.Problem == nil)
	}
	return s
}

// setEffective says what of an exception has less effect than it looks; nothing where
// it has none, which Ready says.
func setEffective(conditions *[]metav1.Condition, generation int64, p *exception.Exception, effects func(*exception.Exception) stored.Problems) {
	if p == nil {
		apimeta.RemoveStatusCondition(conditions, v1alpha1.ConditionEffective)
		return
	}
	said := effect.Condition(effects(p))
	said.ObservedGeneration, said.Message = generation, condition.Message(said.Message)
	apimeta.SetStatusCondition(conditions, said)
}

// unusedSince is since when something in force excused nothing, if that is long
// enough ago.
func (c *Controller) unusedSince(inForce bool, lastUsed, begun *metav1.Time, now time.Time) *metav1.Time {
	since := lastUsed
	if since == nil {
		since = begun
	}
	if !inForce || since == nil || c.UnusedAfter <= 0 || now.Sub(since.Time) < c.UnusedAfter {
		return nil
	}
	return since
}

func setReady(conditions *[]metav1.Condition, generation int64, problem error, fine string) {
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Works", Message: fine, ObservedGeneration: generation}
	if problem != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "CannotWork", problem.Error()
	}
	apimeta.SetStatusCondition(conditions, condition)
}

// write patches a status, if it changed. An object that is gone needs none.
func (c *Controller) write(ctx context.Context, old, changed client.Object, same bool) error {
	if same {
		return nil
	}
	err := c.client.Status().Patch(ctx, changed, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
	if c.overtaken(err) || err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("the status of %s %s/%s cannot be written: %w", old.GetObjectKind().GroupVersionKind().Kind, old.GetNamespace(), old.GetName(), err)
}
