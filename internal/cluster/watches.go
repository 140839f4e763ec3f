package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/sallyport-io/sallyport/internal/watch/follow"
)

// lastApplied is a second copy of an object, kept by kubectl, that nothing here
// reads.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// watches are the caches of a cluster that are fed by watches.
type watches struct {
	started atomic.Bool
	caches  []watchedResource
	follow  func(resource string) follow.Options
}

type watchedResource struct {
	resource string
	cache    cache.SharedIndexInformer
}

// add makes a cache for all objects of a resource. It fills once run runs.
func (w *watches) add(from cache.Getter, resource string, example runtime.Object, indexers cache.Indexers) (cache.SharedIndexInformer, error) {
	var source cache.ListerWatcher = listWatch(from, resource)
	var followed follow.Options
	if w.follow != nil {
		followed = w.follow(resource)
		source = follow.Source(source, followed)
	}
	informer := cache.NewSharedIndexInformerWithOptions(source, example,
		cache.SharedIndexInformerOptions{Indexers: indexers, ObjectDescription: resource})
	if err := errors.Join(informer.SetTransform(trim), informer.SetWatchErrorHandlerWithContext(report)); err != nil {
		return nil, fmt.Errorf("a cache of %s cannot be made: %w", resource, err)
	}
	followed.Fact.Once(informer.HasSynced)
	w.caches = append(w.caches, watchedResource{resource, informer})
	return informer, nil
}

// listWatch lists and watches a resource. Whoever asks tries again at times of his own:
// client-go would wait for as long as an answer says, a second at least, and without a
// word.
func listWatch(from cache.Getter, resource string) *cache.ListWatch {
	ask := func(o *metav1.ListOptions) *rest.Request {
		return from.Get().Resource(resource).VersionedParams(o, metav1.ParameterCodec).MaxRetries(0)
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return ask(&o).Do(ctx).Get()
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			return ask(&o).Watch(ctx)
		},
	}
}

// report logs why a watch broke, unless it was told to end.
func report(ctx context.Context, r *cache.Reflector, err error) {
	if ctx.Err() == nil {
		cache.DefaultWatchErrorHandler(ctx, r, err)
	}
}

// run keeps the watches going until ctx ends and every goroutine of theirs with
// it.
func (w *watches) run(ctx context.Context) error {
	if w.started.Swap(true) {
		return errors.New("the watches of a cluster were started before, and run once")
	}
	var running sync.WaitGroup
	for _, c := range w.caches {
		running.Go(func() { c.cache.RunWithContext(ctx) })
	}
	<-ctx.Done()
	running.Wait()
	return nil
}

// HasSynced reports whether every watch has filled its cache.
func (w *watches) HasSynced() bool { return len(w.missing()) == 0 }

// WaitForSync waits until every watch has filled its cache. If ctx ends before,
// the error names the resources that are missing.
func (w *watches) WaitForSync(ctx context.Context) error {
	checkers := make([]cache.DoneChecker, len(w.caches))
	for i, c := range w.caches {
		checkers[i] = c.cache.HasSyncedChecker()
	}
	if cache.WaitFor(ctx, "", checkers...) {
		return nil
	}
	return fmt.Errorf("these resources of the cluster have not been read yet: %s; is the server allowed to list and watch them? %w",
		strings.Join(w.missing(), ", "), context.Cause(ctx))
}

func (w *watches) missing() []string {
	var missing []string
	for _, c := range w.caches {
		if !c.cache.HasSynced() {
			missing = append(missing, c.resource)
		}
	}
	return missing
}

// cached takes an object out of a cache that is filled. It gives false for a
// cache that is not there or not filled yet, and for an object that it does not
// hold.
func cached[T runtime.Object](informer cache.SharedIndexInformer, key string) (T, bool) {
	var none T
	if informer == nil || !informer.HasSynced() {
		return none, false
	}
	object, exists, err := informer.GetStore().GetByKey(key)
	if err != nil || !exists {
		return none, false
	}
	typed, ok := object.(T)
	return typed, ok
}

// trim takes out of an object what no decision reads before it is kept: of a
// pod, most of its status, which is a third of it.
func trim(object any) (any, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return object, nil //nolint:nilerr // a tombstone, which holds what was trimmed before
	}
	accessor.SetManagedFields(nil)
	if annotations := accessor.GetAnnotations(); annotations[lastApplied] != "" {
		delete(annotations, lastApplied)
	}
	if pod, ok := object.(*corev1.Pod); ok {
		pod.Status = corev1.PodStatus{Phase: pod.Status.Phase}
	}
	return object, nil
}
