package workflow

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// cleanUp removes what is over: exceptions and requests a while after they
// expired, and responses a while after they came to answer nothing.
func (c *Controller) cleanUp(ctx context.Context, all *everything) error {
	if c.Retention <= 0 {
		return nil
	}
	over := func(at time.Time) bool { return !at.IsZero() && !all.now.Before(at.Add(c.Retention)) }
	var errs []error
	for i := range all.exceptions {
		if e := &all.exceptions[i]; e.Status.State == v1alpha1.ExceptionExpired && e.Status.ExpiresAt != nil && over(e.Status.ExpiresAt.Time) {
			errs = append(errs, c.remove(ctx, e))
		}
	}
	for i := range all.wide {
		if e := &all.wide[i]; e.Status.State == v1alpha1.ExceptionExpired && e.Status.ExpiresAt != nil && over(e.Status.ExpiresAt.Time) {
			errs = append(errs, c.remove(ctx, e))
		}
	}
	answering := map[string]bool{}
	for i := range all.requests {
		q := &all.requests[i]
		// An answer goes only after what it answers is gone: without it the request
		// would be waiting for one again, or another answer would come to count.
		for _, a := range all.answersTo(q) {
			answering[a.Name] = true
		}
		if a := all.answerTo(q); a != nil && a.Spec.ExpiresAt != nil && over(a.Spec.ExpiresAt.Time) {
			errs = append(errs, c.remove(ctx, q))
		}
	}
	for i := range all.responses {
		a := &all.responses[i]
		since := a.CreationTimestamp.Time
		if a.Spec.ExpiresAt != nil && a.Spec.ExpiresAt.After(since) && !all.now.Before(a.Spec.ExpiresAt.Time) {
			since = a.Spec.ExpiresAt.Time
		}
		if !answering[a.Name] && over(since) {
			errs = append(errs, c.remove(ctx, a))
		}
	}
	return errors.Join(errs...)
}

// remove deletes the very object that was looked at, and no other one that has
// come to have its name.
func (c *Controller) remove(ctx context.Context, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	err := c.client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err == nil {
		c.Log.Info("removed what is over", "kind", fmt.Sprintf("%T", object), "namespace", object.GetNamespace(), "name", object.GetName())
	}
	if c.overtaken(err) || err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s/%s, which is over, cannot be removed: %w", object.GetNamespace(), object.GetName(), err)
}
