package policyserver

import (
	"context"
	"errors"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// takeDown removes a server, and says what stands in the way of it.
func (c *Controller) takeDown(ctx context.Context, w *snapshot, s *v1alpha1.PolicyServer) (soon bool, err error) {
	staying, soon, err := c.staying(ctx, w, s)
	if err == nil && len(staying) > 0 {
		return soon, c.updateServerStatus(ctx, s, condition(v1alpha1.ConditionReady, false, "StillAsked", stillAsked(staying)))
	}
	if err == nil {
		soon, err = c.tryTakeDown(ctx, s)
	}
	if err != nil {
		return false, errors.Join(err, c.updateServerStatus(ctx, s, condition(v1alpha1.ConditionReady, false, "CannotBeRemoved", err.Error())))
	}
	return soon, nil
}

// tryTakeDown removes a server: its webhooks first, and what they led to once no API
// server asks there any more.
func (c *Controller) tryTakeDown(ctx context.Context, s *v1alpha1.PolicyServer) (soon bool, err error) {
	if !controllerutil.ContainsFinalizer(s, finalizer) {
		return false, nil
	}
	name, m := WebhooksName(s.Name), c.remember(s)
	for _, o := range []client.Object{&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}} {
		was, err := c.remove(ctx, s, o, "", name)
		if err != nil {
			return true, err
		}
		if was {
			m.removed = c.Clock.Now()
		}
	}
	if m.removed.IsZero() {
		m.removed = c.Clock.Now()
	}
	if c.Clock.Now().Sub(m.removed) < drain {
		return true, nil
	}
	for _, o := range []client.Object{&policyv1.PodDisruptionBudget{}, &appsv1.Deployment{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}} {
		if _, err := c.remove(ctx, s, o, c.Namespace, ObjectName(s.Name)); err != nil {
			return true, err
		}
	}
	before := s.DeepCopy()
	controllerutil.RemoveFinalizer(s, finalizer)
	if err := c.client.Patch(ctx, s, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil && !apierrors.IsNotFound(err) {
		return true, err
	}
	c.Log.Info("a PolicyServer was removed", "policyServer", s.Name)
	return false, nil
}
