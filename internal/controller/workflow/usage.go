package workflow

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
)

// flush writes, from time to time, how often this replica used each exception.
// Every replica writes its own, leader or not: counts add up. What is left when
// ctx ends is written then, as far as that can be done at once.
func (c *Controller) flush(ctx context.Context) { c.keepFlushing(ctx, flushEvery, c.Flush) }

// keepFlushing writes from time to time what this replica counted, and once more, as
// far as that can be done at once, when ctx ends.
func (c *Controller) keepFlushing(ctx context.Context, every time.Duration, flush func(context.Context)) {
	ticker := c.Clock.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
			defer cancel()
			flush(last)
			return
		case <-ticker.C():
			flush(ctx)
		}
	}
}

// Flush writes the uses that were counted since the last time.
func (c *Controller) Flush(ctx context.Context) {
	if !c.Ledger.Used() {
		return
	}
	written := map[types.UID]bool{}
	for _, p := range c.Set().Exceptions().Exceptions() {
		uid := p.UID()
		if written[uid] {
			continue
		}
		written[uid] = true
		count, last := c.Ledger.Drain(uid)
		if count == 0 {
			continue
		}
		if err := c.addUses(ctx, p, count, last); err != nil {
			c.Ledger.Restore(uid, count)
			if ctx.Err() == nil {
				c.Log.Error(err, "the uses of an exception could not be written; they are kept", "kind", p.Names.Kind, "namespace", p.Names.Namespace, "name", p.Names.Name)
			}
		}
	}
}

// addUses adds to the count in an object's status. Another replica may do so at
// the same time, so the write is bound to what was read.
func (c *Controller) addUses(ctx context.Context, p *exception.Exception, count int64, last time.Time) error {
	key := client.ObjectKey{Namespace: p.Names.Namespace, Name: p.Names.Name}
	at := metav1.NewTime(last.UTC().Truncate(time.Second))
	add := func(uses *int64, lastUsed **metav1.Time) {
		*uses += count
		if *lastUsed == nil || (*lastUsed).Before(&at) {
			*lastUsed = &at
		}
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var object, old client.Object
		switch p.Names.Kind {
		case exception.KindRequest:
			q := &v1alpha1.PolicyExceptionRequest{}
			if err := c.client.Get(ctx, key, q); err != nil {
				return client.IgnoreNotFound(err)
			}
			old = q.DeepCopy()
			add(&q.Status.Uses, &q.Status.LastUsedAt)
			object = q
		case exception.KindClusterException:
			e := &v1alpha1.ClusterPolicyException{}
			if err := c.client.Get(ctx, key, e); err != nil {
				return client.IgnoreNotFound(err)
			}
			old = e.DeepCopy()
			add(&e.Status.Uses, &e.Status.LastUsedAt)
			object = e
		default:
			e := &v1alpha1.PolicyException{}
			if err := c.client.Get(ctx, key, e); err != nil {
				return client.IgnoreNotFound(err)
			}
			old = e.DeepCopy()
			add(&e.Status.Uses, &e.Status.LastUsedAt)
			object = e
		}
		return client.IgnoreNotFound(c.counts.Status().Patch(ctx, object, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})))
	})
}
