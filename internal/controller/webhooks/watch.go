package webhooks

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/sallyport-io/sallyport/internal/watch/follow"
	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
)

// watched are what webhooks depend on beside policies: what the API server has, and
// the webhooks themselves.
var watched = []schema.GroupVersionResource{
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
}

// Watch has notice called whenever something of these changes that an API server has,
// until ctx ends. followed says how each is followed. What may not be watched is noticed
// at the next look.
func Watch(ctx context.Context, client metadata.Interface, followed func(resource string) follow.Options, notice func()) {
	for _, resource := range watched {
		objects := client.Resource(resource)
		options := followed(resource.GroupResource().String())
		// That something has changed is all that is read of it.
		options.Slim = ours.Slim
		informer := cache.NewSharedIndexInformer(follow.Source(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return objects.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return objects.Watch(ctx, o)
			},
		}, options), &metav1.PartialObjectMetadata{}, 0, nil)
		// Both fail only to an informer that has begun.
		_ = informer.SetTransform(ours.Slim)
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { notice() },
			UpdateFunc: func(any, any) { notice() },
			DeleteFunc: func(any) { notice() },
		})
		go informer.RunWithContext(ctx)
	}
}
