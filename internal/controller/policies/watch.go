// Package policies keeps what is in force up to date with the objects of an API
// server, and tells each of them what became of it. The two never wait for each
// other: what was written counts from when it was read, whether or not its status
// can be written.
package policies

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
)

// Watch feeds what is in force with the objects of an API server. It watches them as
// unstructured objects, so that one that does not decode does not stop the watch for
// the others.
type Watch struct {
	feed  *policy.Feed
	log   logr.Logger
	cache cache.Cache
	clock clock.Clock
	// followed says how well the cache is fed.
	followed *ours.Kinds
	kinds    []string

	// changed holds at most one notice: however many objects change, one pass over
	// all of them follows.
	changed notice.Notice
	// reloaded are told of each change that was put in force, and touched of each
	// event of an object, whether or not it changes what is in force.
	reloaded []func()
	touched  []func(Key)
}

// Key names an object.
type Key struct{ Kind, Namespace, Name string }

func keyOf(object *unstructured.Unstructured) Key {
	return Key{object.GetKind(), object.GetNamespace(), object.GetName()}
}

// NewWatch makes a Watch of kinds in the API server that config leads to, followed in
// the way of followed. Nothing is sent before Run.
func NewWatch(config *rest.Config, feed *policy.Feed, log logr.Logger, followed *ours.Kinds, kinds []string) (*Watch, error) {
	objects, err := followed.Cache(config, cache.Options{DefaultTransform: slim})
	if err != nil {
		return nil, fmt.Errorf("the policies of the API server cannot be watched: %w", err)
	}
	return &Watch{feed: feed, log: log, followed: followed, cache: objects, kinds: kinds, clock: clock.RealClock{}, changed: notice.New()}, nil
}

// Expect has all that is watched count as unread from now on, and not only from when
// Run asks for it.
func (w *Watch) Expect() { w.followed.Expect(w.kinds...) }

// OnReload has f called after each change has been put in force. It must return soon,
// and be given before Run.
func (w *Watch) OnReload(f func()) { w.reloaded = append(w.reloaded, f) }

// OnTouch has f called at each event of an object. It must return soon, and be given
// before Run.
func (w *Watch) OnTouch(f func(Key)) { w.touched = append(w.touched, f) }

// Ready says whether all kinds were read once.
func (w *Watch) Ready() error {
	if !w.Synced() {
		return errors.New("the policies of the API server were not read yet")
	}
	return nil
}

// Synced reports whether all kinds were read and put in force once.
func (w *Watch) Synced() bool { return w.feed.Synced() }

// Run watches until ctx ends. A kind that is not there, or may not be read, is not
// an error: it is tried again until it can be, and until then nothing is put in force.
func (w *Watch) Run(ctx context.Context) error {
	if err := ours.Handle(ctx, w.cache, w.event, w.kinds...); err != nil {
		return fmt.Errorf("the policies of the API server cannot be watched: %w", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- w.cache.Start(ctx) }()
	if !w.cache.WaitForCacheSync(ctx) {
		return <-stopped
	}
	w.changed.Give()
	// What changes by itself is in force at once. After that, as long as it took is waited
	// for: of many changes one after another, those that come meanwhile are put in force
	// together, and half of the time is left for decisions.
	changed := w.changed
	var resting <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return <-stopped
		case err := <-stopped:
			return err
		case <-changed:
			began := w.clock.Now()
			w.reload(ctx)
			changed, resting = nil, w.clock.After(w.clock.Since(began))
		case <-resting:
			changed, resting = w.changed, nil
		}
	}
}

// event takes an object before and after a change; nil where it was not there.
func (w *Watch) event(before, after any) {
	old, was := before.(*unstructured.Unstructured)
	updated, is := after.(*unstructured.Unstructured)
	if !was || !is || policy.Changed(old, updated) {
		w.changed.Give()
	}
	if is {
		for _, touched := range w.touched {
			touched(keyOf(updated))
		}
	}
}

// reload puts what the caches hold in force.
func (w *Watch) reload(ctx context.Context) {
	objects, err := w.list(ctx, w.kinds)
	if err != nil {
		w.log.Error(err, "policies cannot be listed")
		return
	}
	w.feed.Take(inOrder(objects))
	for _, reloaded := range w.reloaded {
		reloaded()
	}
}

// InForce lists what is watched, and reports whether just that is in force by now. The
// objects must not be changed.
func (w *Watch) InForce(ctx context.Context) ([]*unstructured.Unstructured, bool, error) {
	objects, err := w.list(ctx, w.kinds)
	if err != nil {
		return nil, false, err
	}
	return objects, w.Synced() && w.feed.Holds(objects), nil
}

// list reads the caches of kinds, in no order. What it returns is the caches' own, and
// must not be changed.
func (w *Watch) list(ctx context.Context, kinds []string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, kind := range kinds {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
		if err := w.cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("the cache of %s cannot be read: %w", kind, err)
		}
		for k := range list.Items {
			objects = append(objects, &list.Items[k])
		}
	}
	return objects, nil
}

// get reads an object from the caches; nil if there is none. It must not be changed.
func (w *Watch) get(ctx context.Context, key Key) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(key.Kind))
	err := w.cache.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, object, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("the cache of %s cannot be read: %w", key.Kind, err)
	}
	if err != nil {
		return nil, nil
	}
	return object, nil
}
