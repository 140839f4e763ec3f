package judge

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/version"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// dryRun has an API server make of objects what it would store, and store nothing.
type dryRun struct {
	client dynamic.Interface
	kinds  meta.RESTMapper
}

func newDryRun(live *option.Live) (*dryRun, error) {
	config, err := live.Config()
	if err != nil {
		return nil, err
	}
	config = pace.DryRuns.Of(config)
	config.UserAgent = "sallyport/" + version.Read().Version
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &dryRun{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))}, nil
}

// create gives the object of a document as the API server would store it: newly
// made, or in place of the one that is there.
func (r *dryRun) create(ctx context.Context, d *load.Document, namespace string) ([]byte, error) {
	refused := func(err error) error {
		return &apijson.Error{Detail: fmt.Sprintf("the API server does not take it: %v", err), Err: err}
	}
	mapping, err := r.kinds.RESTMapping(d.GVK.GroupKind(), d.GVK.Version)
	if err != nil {
		return nil, refused(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(d.Raw); err != nil {
		return nil, refused(err)
	}
	var resource dynamic.ResourceInterface = r.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		resource = r.client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	all := []string{metav1.DryRunAll}
	made, err := resource.Create(ctx, object, metav1.CreateOptions{DryRun: all})
	if apierrors.IsAlreadyExists(err) {
		var there *unstructured.Unstructured
		if there, err = resource.Get(ctx, object.GetName(), metav1.GetOptions{}); err == nil {
			object.SetResourceVersion(there.GetResourceVersion())
			made, err = resource.Update(ctx, object, metav1.UpdateOptions{DryRun: all})
		}
	}
	if err != nil {
		return nil, refused(err)
	}
	return made.MarshalJSON()
}
