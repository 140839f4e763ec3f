package workflow

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// watch begins to watch what is looked at. What comes into force is told by others, from
// a watch of their own, which may be ahead of this one.
func (c *Controller) watch(ctx context.Context) error {
	for _, kind := range []client.Object{&v1alpha1.PolicyException{}, &v1alpha1.ClusterPolicyException{}, &v1alpha1.PolicyExceptionRequest{}, &v1alpha1.PolicyExceptionResponse{}, &v1alpha1.BreakglassSession{}, &v1alpha1.BreakglassEscalation{}} {
		informer, err := c.objects.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		// Adding a handler fails only to an informer that has ended.
		_, _ = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { c.changed.Give() },
			DeleteFunc: func(any) { c.changed.Give() },
			UpdateFunc: func(before, after any) {
				old, updated := before.(client.Object), after.(client.Object)
				if old.GetGeneration() != updated.GetGeneration() || old.GetUID() != updated.GetUID() {
					c.changed.Give()
				}
			},
		})
	}
	return nil
}

// overtaken reports whether something was not written as it had changed since it was
// read. It is looked at again soon, and not only when something else changes.
func (c *Controller) overtaken(err error) bool {
	if !apierrors.IsConflict(err) {
		return false
	}
	c.behind.Store(true)
	return true
}
