package policyserver

import (
	"context"
	"sync/atomic"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/watch/follow"
)

// watched are PolicyServers and their webhooks, as the API server has them.
type watched struct{ informers []*watchedKind }

// watchedKind is one of both kinds.
type watchedKind struct {
	cache.SharedIndexInformer
	// refused is closed once the API server has said that the kind cannot be read: it
	// is not there, or the account may not read it.
	refused chan struct{}
}

// watch begins to watch. It ends with ctx.
func (e *Elsewhere) watch(ctx context.Context) *watched {
	servers := e.Metadata.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Plural("PolicyServer")))
	webhooks := e.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	ours := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = labelServer
		return o
	}
	w := &watched{informers: []*watchedKind{
		e.informer("policyservers", &metav1.PartialObjectMetadata{}, &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return servers.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return servers.Watch(ctx, o)
			},
		}),
		e.informer("validatingwebhookconfigurations", &admissionregistrationv1.ValidatingWebhookConfiguration{}, &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return webhooks.List(ctx, ours(o))
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return webhooks.Watch(ctx, ours(o))
			},
		}),
	}}
	for _, informer := range w.informers {
		go informer.RunWithContext(ctx)
	}
	return w
}

func (e *Elsewhere) informer(resource string, example runtime.Object, from *cache.ListWatch) *watchedKind {
	k := &watchedKind{refused: make(chan struct{})}
	var told atomic.Bool
	list := from.ListWithContextFunc
	from.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		found, err := list(ctx, o)
		if (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)) && told.CompareAndSwap(false, true) {
			e.Log.Error(err, "which policies PolicyServers judge by cannot be read; Sallyport judges by all of them itself", "resource", resource)
			close(k.refused)
		}
		return found, err
	}
	k.SharedIndexInformer = cache.NewSharedIndexInformer(follow.Source(from, follow.Options{
		Line: e.Line, Clock: e.Clock, Log: e.Log.WithValues("resource", resource),
	}), example, 0, cache.Indexers{})
	// Adding a handler fails only to an informer that has ended.
	_, _ = k.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { e.changed.Give() },
		UpdateFunc: func(any, any) { e.changed.Give() },
		DeleteFunc: func(any) { e.changed.Give() },
	})
	return k
}

// read waits until each kind was read, or cannot be. It reports whether that is so
// before ctx ends.
func (w *watched) read(ctx context.Context) bool {
	for _, k := range w.informers {
		synced := make(chan struct{})
		go func() {
			if cache.WaitForCacheSync(ctx.Done(), k.HasSynced) {
				close(synced)
			}
		}()
		select {
		case <-ctx.Done():
			return false
		case <-k.refused:
		case <-synced:
		}
	}
	return true
}

func (w *watched) servers() []*metav1.PartialObjectMetadata {
	return listed[*metav1.PartialObjectMetadata](w.informers[0])
}

func (w *watched) webhooks() []*admissionregistrationv1.ValidatingWebhookConfiguration {
	return listed[*admissionregistrationv1.ValidatingWebhookConfiguration](w.informers[1])
}

func listed[T any](k *watchedKind) []T {
	var all []T
	for _, o := range k.GetStore().List() {
		if t, ok := o.(T); ok {
			all = append(all, t)
		}
	}
	return all
}
