package webhooks

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Aggregated asks an API server which versions of groups it leaves to API servers of
// their own, by NAMESPACE/NAME of the Service of each.
func Aggregated(ctx context.Context, client rest.Interface) (map[schema.GroupVersion]string, error) {
	raw, err := client.Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("the APIServices, by which API servers of their own are found, cannot be listed: %w", err)
	}
	var list struct {
		Items []struct {
			Spec struct {
				Group, Version string
				Service        *struct{ Namespace, Name string }
			}
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("the APIServices cannot be read: %w", err)
	}
	by := map[schema.GroupVersion]string{}
	for _, item := range list.Items {
		if service := item.Spec.Service; service != nil {
			by[schema.GroupVersion{Group: item.Spec.Group, Version: item.Spec.Version}] = service.Namespace + "/" + service.Name
		}
	}
	return by, nil
}
