package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// served reads what the API server serves of a version of a group.
func (l *Live) served(ctx context.Context, version schema.GroupVersion) ([]metav1.APIResource, error) {
	body, err := l.client.readJSON(ctx, func() *rest.Request { return l.client.core.Get().AbsPath(root(version)...) })
	if err != nil {
		return nil, fmt.Errorf("what the API server serves of %s cannot be read: %w", version, err)
	}
	var served metav1.APIResourceList
	if err := json.Unmarshal(body, &served); err != nil {
		return nil, fmt.Errorf("what the API server serves of %s cannot be read: %w", version, err)
	}
	return served.APIResources, nil
}

// KindOf asks the API server which kind a resource is of, each time: a definition can be
// replaced by one of the same resource and another kind.
func (l *Live) KindOf(ctx context.Context, resource schema.GroupVersionResource) (string, error) {
	all, err := l.served(ctx, resource.GroupVersion())
	if err != nil {
		return "", err
	}
	for i := range all {
		if all[i].Name == resource.Resource {
			return all[i].Kind, nil
		}
	}
	return "", fmt.Errorf("the API server serves no %s of %s", resource.Resource, resource.GroupVersion())
}
