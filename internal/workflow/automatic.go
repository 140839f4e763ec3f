package workflow

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/pass"
)

// ConditionApproval says of a request why it was not approved automatically,
// where some ExceptionPolicy would and cannot.
const ConditionApproval = "AutomaticApproval"

// approve answers the requests that an ExceptionPolicy approves by itself.
func (c *Controller) approve(ctx context.Context, all *everything) error {
	var errs []error
	for i := range all.requests {
		q := &all.requests[i]
		if all.answerTo(q) != nil || all.set.State(pass.KindRequest, q.Namespace, q.Name).Problem != nil {
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
	by, ok, err := all.set.Rules().Automatic(ctx, q, namespace)
	if err != nil {
		changed := q.DeepCopy()
		if apimeta.SetStatusCondition(&changed.Status.Conditions, metav1.Condition{
			Type: ConditionApproval, Status: metav1.ConditionFalse, Reason: "ConditionFailed", Message: err.Error(), ObservedGeneration: q.Generation,
		}) {
			return c.write(ctx, q, changed, false)
		}
		return nil
	}
	if !ok {
		return nil
	}
	answer := &v1alpha1.PolicyExceptionResponse{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("auto-%s-%d", q.UID, q.Generation)},
		Spec: v1alpha1.PolicyExceptionResponseSpec{
			ApprovalPolicy: "Automatic", Name: q.Name, Namespace: q.Namespace, Status: v1alpha1.ResponseApproved,
			Reason: "approved automatically by ExceptionPolicy " + by, RequestUID: q.UID, RequestGeneration: q.Generation,
		},
	}
	if err := c.client.Create(ctx, answer); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("PolicyExceptionRequest %s/%s cannot be approved automatically: %w", q.Namespace, q.Name, err)
	}
	return nil
}
