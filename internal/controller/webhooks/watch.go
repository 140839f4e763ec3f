package webhooks

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
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
// until ctx ends. What may not be watched is noticed at the next look.
func Watch(ctx context.Context, client metadata.Interface, notice func()) {
	factory := metadatainformer.NewSharedInformerFactory(client, 0)
	for _, resource := range watched {
		informer := factory.ForResource(resource).Informer()
		// Adding a handler fails only to an informer that has ended.
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { notice() },
			UpdateFunc: func(any, any) { notice() },
			DeleteFunc: func(any) { notice() },
		})
	}
	factory.Start(ctx.Done())
	go func() {
		<-ctx.Done()
		factory.Shutdown()
	}()
}
