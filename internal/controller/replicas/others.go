package replicas

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/watch/follow"
)

// other is another replica.
type other struct {
	saying
	lease *coordinationv1.Lease
	// heard is when something was heard of it last, by this replica's clock, and
	// changed since when it has in force what it has.
	heard, changed time.Time
}

// gone reports whether it was not heard of for longer than it may go on, by a factor.
func (o *other) gone(now time.Time, factor time.Duration) bool {
	return now.Sub(o.heard) > factor*o.lasts
}

// listen keeps what other replicas say, until ctx ends.
func (r *Replicas) listen(ctx context.Context) {
	leases := r.Client.CoordinationV1().Leases(r.Namespace)
	of := LabelOf + "=" + r.Installation
	informer := cache.NewSharedIndexInformer(follow.Source(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = of
			return leases.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = of
			return leases.Watch(ctx, o)
		},
	}, follow.Options{Failed: r.cannotListen, Line: r.Line, Clock: r.Clock, Log: r.Log.WithValues("resource", "leases")}), &coordinationv1.Lease{}, 0, nil)
	// It fails only for an informer that has ended.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { r.hear(o) },
		UpdateFunc: func(_, o any) { r.hear(o) },
		DeleteFunc: func(o any) { r.miss(o) },
	})
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		r.mu.Lock()
		r.listed, r.failed = true, nil
		r.mu.Unlock()
		r.Changed()
	}
	running.Wait()
}

func (r *Replicas) cannotListen(err error) {
	r.mu.Lock()
	r.failed = err
	r.mu.Unlock()
}

// hear takes what a replica says.
func (r *Replicas) hear(object any) {
	lease, ok := object.(*coordinationv1.Lease)
	if !ok || lease.Name == r.name {
		return
	}
	now, said := r.Clock.Now(), sayingOf(lease)
	r.mu.Lock()
	r.failed = nil
	before := r.others[lease.Name]
	o := &other{*said, lease, now, now}
	if before == nil {
		// One that ended before this one began may be long gone.
		if renewed := lease.Spec.RenewTime; renewed != nil && renewed.Time.Before(now) {
			o.heard = renewed.Time
		}
	} else {
		if ptr.Equal(before.lease.Spec.RenewTime, lease.Spec.RenewTime) {
			o.heard = before.heard
		}
		if before.content.same(said.content) {
			o.changed = before.changed
		}
	}
	r.others[lease.Name] = o
	touched := r.waitingLocked()
	r.mu.Unlock()
	r.touch(touched)
	if before == nil || before.identity != said.identity || before.ready != said.ready || before.observes != said.observes || len(before.troubles)+len(said.troubles) > 0 && !before.same(said) {
		r.Changed()
	}
}

func (r *Replicas) miss(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return
	}
	r.mu.Lock()
	delete(r.others, lease.Name)
	r.mu.Unlock()
	r.Changed()
}

// waitingLocked are the objects of which something may be said now.
func (r *Replicas) waitingLocked() []stored.Ref {
	refs := make([]stored.Ref, 0, len(r.waiting))
	for ref := range r.waiting {
		refs = append(refs, ref)
	}
	return refs
}

func (r *Replicas) touch(refs []stored.Ref) {
	if len(refs) > 0 {
		r.Touch(refs)
	}
}

// refresh looks for what nothing tells of: replicas that are not heard of any more, and
// objects that some replica has not had for too long. The one that leads deletes the
// Leases of those that are gone.
func (r *Replicas) refresh(ctx context.Context) {
	now := r.Clock.Now()
	var due []stored.Ref
	var dead []*coordinationv1.Lease
	lost := false
	r.mu.Lock()
	for name, o := range r.others {
		if o.gone(now, 1) && !o.gone(now.Add(-lookEvery), 1) {
			lost = true
		}
		if o.gone(now, 2) {
			dead = append(dead, o.lease)
			delete(r.others, name)
		}
		lost = lost || r.turnsOut(o, now)
	}
	for ref, w := range r.waiting {
		if !w.told && now.Sub(w.since) >= lasts {
			due = append(due, ref)
			w.told = true
			r.waiting[ref] = w
		}
	}
	r.mu.Unlock()
	r.touch(due)
	if lost {
		r.Changed()
	}
	if !r.Leads() {
		return
	}
	for _, lease := range dead {
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}}
		err := r.Client.CoordinationV1().Leases(r.Namespace).Delete(ctx, lease.Name, options)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			r.Log.Error(err, "the Lease of a replica that is gone could not be deleted", "namespace", lease.Namespace, "name", lease.Name)
		}
	}
}

// turnsOut reports whether a replica has come to differ for long enough that it is
// said.
func (r *Replicas) turnsOut(o *other, now time.Time) bool {
	long := now.Sub(o.changed)
	if long < differs || long >= differs+2*lookEvery {
		return false
	}
	for kind := range r.own.content {
		if r.differs(kind, o, now) {
			return true
		}
	}
	return false
}

// differs reports whether a replica has other objects of a kind, though it is not
// behind.
func (r *Replicas) differs(kind string, o *other, now time.Time) bool {
	own, has := r.own.content[kind], o.content[kind]
	return own.Digest != has.Digest && own.Version == has.Version && now.Sub(o.changed) >= differs
}

// Asks reports whether a word is one by which a replica of this installation asks
// whether the API server reaches both doors, this one among them.
func (r *Replicas) Asks(word string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if word == r.own.word {
		return true
	}
	now := r.Clock.Now()
	for _, o := range r.others {
		if o.word != "" && o.word == word && !o.gone(now, 1) {
			return true
		}
	}
	return false
}

// Others says of each other replica that may still answer what Shows returns there, by its
// identity; false where that is not known.
func (r *Replicas) Others() (shows map[string]string, known bool) {
	now := r.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	shows = make(map[string]string, len(r.others))
	for _, o := range r.others {
		if !o.gone(now, 1) {
			shows[o.identity] = o.shows
		}
	}
	return shows, r.listed && r.failed == nil
}

// Word is the one by which this replica asks.
func (r *Replicas) Word() string { return r.own.word }
