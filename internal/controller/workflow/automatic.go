package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// ConditionApproval says of a request why it was not approved automatically,
// where some ExceptionPolicy would and cannot.
// It is also how a request is known that was approved once: an approval that a
// person took back is not given again.
const ConditionApproval = "AutomaticApproval"

const (
	reasonApproved  = "Approved"
	reasonRevoked   = "Revoked"
	reasonRefused   = "Refused"
	reasonCondition = "ConditionFailed"
)

// automatic is the approvalPolicy of what Sallyport answers by itself.
const automatic = "Automatic"

// approve answers the requests that an ExceptionPolicy approves by itself.
func (c *Controller) approve(ctx context.Context, all *everything) error {
	var errs []error
	for i := range all.requests {
		q := &all.requests[i]
		if len(all.answersTo(q)) > 1 || q.DeletionTimestamp != nil {
			continue
		}
		if a := all.answerTo(q); a != nil {
			if strings.EqualFold(a.Spec.ApprovalPolicy, automatic) {
				errs = append(errs, c.approval(ctx, q, metav1.ConditionTrue, reasonApproved, a.Spec.Reason))
			}
			continue
		}
		if all.set.State(exception.KindRequest, q.Namespace, q.Name).Problem != nil {
			continue
		}
		if given := apimeta.FindStatusCondition(q.Status.Conditions, ConditionApproval); given != nil && given.ObservedGeneration == q.Generation && (given.Reason == reasonApproved || given.Reason == reasonRevoked) {
			errs = append(errs, c.approval(ctx, q, metav1.ConditionFalse, reasonRevoked, "the automatic approval of this request was taken back; a person can answer it, or it can be changed"))
			continue
		}
		errs = append(errs, c.approveOne(ctx, all, q))
	}
	return errors.Join(errs...)
}

func (c *Controller) approveOne(ctx context.Context, all *everything, q *v1alpha1.PolicyExceptionRequest) error {
	if !all.set.Rules().ApprovesSome() {
		return nil
	}
	var namespace *corev1.Namespace
	ns := &corev1.Namespace{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: q.Namespace}, ns); err == nil {
		namespace = ns
	}
	meant, unmeant := automaticallyMeant(c.Set(), q)
	if unmeant != nil {
		// Whether some rule is about it at all is not known without what it means.
		if all.set.Rules().MayBeAutomatic(q.Namespace, meant) {
			return c.approval(ctx, q, metav1.ConditionFalse, reasonRefused, "it cannot be approved automatically: "+unmeant.Error()+"; a person can answer it")
		}
		return nil
	}
	by, ok, err := all.set.Rules().Automatic(ctx, q, meant, namespace)
	if err != nil {
		return c.approval(ctx, q, metav1.ConditionFalse, reasonCondition, err.Error())
	}
	if !ok {
		return nil
	}
	if err := wouldWork(all, q); err != nil {
		return c.approval(ctx, q, metav1.ConditionFalse, reasonRefused, "it cannot be approved automatically: "+err.Error()+"; a person can answer it")
	}
	answer := &v1alpha1.PolicyExceptionResponse{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("auto-%s-%d", q.UID, q.Generation)},
		Spec: v1alpha1.PolicyExceptionResponseSpec{
			ApprovalPolicy: automatic, Name: q.Name, Namespace: q.Namespace, Status: v1alpha1.ResponseApproved,
			Reason: "approved automatically by ExceptionPolicy " + by, RequestUID: q.UID, RequestGeneration: q.Generation,
		},
	}
	if err := c.client.Create(ctx, answer); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("PolicyExceptionRequest %s/%s cannot be approved automatically: %w", q.Namespace, q.Name, err)
	}
	return c.approval(ctx, q, metav1.ConditionTrue, reasonApproved, "approved automatically by ExceptionPolicy "+by)
}

// automaticallyMeant lists what a request means, as the rules about exceptions know
// it. Nobody is asked about what is approved automatically, so that a name has to
// mean something that is there: the error says of one that it does not.
func automaticallyMeant(set *policy.Set, q *v1alpha1.PolicyExceptionRequest) (list []exception.Meant, err error) {
	named := exception.ExceptedBy(q)
	for i := range named {
		for _, m := range meansOf(set, &named[i], q.Namespace) {
			if !m.there && !glob.IsPattern(named[i].PolicyName) {
				err = fmt.Errorf("exceptions[%d] names %q, which no policy is called now", i, named[i].PolicyName)
				if m.kind.Guarded {
					// What it can come to mean is not what some rule may be about.
					continue
				}
			}
			list = append(list, m.ruled())
		}
	}
	return list, err
}

// wouldWork says why an automatic approval would excuse nothing, such as for other
// namespaces, which only a person can approve; nil if it would.
func wouldWork(all *everything, q *v1alpha1.PolicyExceptionRequest) error {
	at := metav1.NewTime(all.now.UTC().Truncate(time.Second))
	return worksOut(all.set, q, &v1alpha1.PolicyExceptionResponse{Spec: v1alpha1.PolicyExceptionResponseSpec{
		ApprovalPolicy: automatic, Name: q.Name, Namespace: q.Namespace, Status: v1alpha1.ResponseApproved,
		RequestUID: q.UID, RequestGeneration: q.Generation, Approver: "sallyport", ApprovalTime: &at,
	}})
}

// approval writes what became of the automatic approval of a request.
func (c *Controller) approval(ctx context.Context, q *v1alpha1.PolicyExceptionRequest, status metav1.ConditionStatus, reason, message string) error {
	changed := q.DeepCopy()
	if !apimeta.SetStatusCondition(&changed.Status.Conditions, metav1.Condition{
		Type: ConditionApproval, Status: status, Reason: reason, Message: message, ObservedGeneration: q.Generation,
	}) {
		return nil
	}
	return c.write(ctx, q, changed, false)
}
