package match

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// body is what is sent to a subresource as an object of a kind of its own.
type body struct {
	group, subresource string
	// owner is the kind whose subresource it is, in the core group; empty where
	// several kinds have it.
	owner string
	// resource says that there is a resource of the kind as well.
	resource bool
}

var bodies = map[string]body{
	"PodExecOptions":        {subresource: "exec", owner: "Pod"},
	"PodAttachOptions":      {subresource: "attach", owner: "Pod"},
	"PodPortForwardOptions": {subresource: "portforward", owner: "Pod"},
	"PodProxyOptions":       {subresource: "proxy", owner: "Pod"},
	"PodLogOptions":         {subresource: "log", owner: "Pod"},
	"Binding":               {subresource: "binding", owner: "Pod", resource: true},
	"Eviction":              {group: "policy", subresource: "eviction", owner: "Pod"},
	"NodeProxyOptions":      {subresource: "proxy", owner: "Node"},
	"ServiceProxyOptions":   {subresource: "proxy", owner: "Service"},
	"TokenRequest":          {group: "authentication.k8s.io", subresource: "token", owner: "ServiceAccount"},
	"Scale":                 {group: "autoscaling", subresource: "scale"},
}

// ownerOf returns the kind that a request about a subresource is about, where the
// kind of the request's object tells it.
func ownerOf(object schema.GroupVersionKind, subresource string) schema.GroupVersionKind {
	if b, ok := bodies[object.Kind]; ok && b.owner != "" && b.group == object.Group && b.subresource == subresource {
		return schema.GroupVersionKind{Version: "v1", Kind: b.owner}
	}
	return object
}

// KindOf returns the kind that a request is about: that of the resource which
// stands in its URL, whatever is sent to a subresource of it. object is the kind
// of the request's object, empty where it has none; it is the answer for resources
// that are not of Kubernetes itself.
func KindOf(resource schema.GroupVersionResource, subresource string, object schema.GroupVersionKind) schema.GroupVersionKind {
	if subresource == "" && object.Kind != "" {
		return object
	}
	if kind, ok := builtinResources[resource.GroupResource()]; ok {
		return resource.GroupVersion().WithKind(kind)
	}
	return ownerOf(object, subresource)
}

// KindHidden reports whether nothing in a request says which kind it is about: the object
// that is sent to a subresource of a resource that is not of Kubernetes itself, such as a
// Scale, is of a kind of its own.
func KindHidden(resource schema.GroupVersionResource, subresource string, object schema.GroupVersionKind) bool {
	return subresource != "" && object.Group != resource.Group && KindOf(resource, subresource, object) == object
}

var builtinResources = func() map[schema.GroupResource]string {
	resources := map[schema.GroupResource]string{}
	for _, g := range builtinGroups {
		for _, kind := range strings.Fields(g.kinds) {
			plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: g.name, Kind: kind})
			resources[plural.GroupResource()] = kind
		}
	}
	return resources
}()

// checkIsResource refuses an entry that names what is only ever sent to a
// subresource: requests are matched by the resource that they are about.
func (k *Kind) checkIsResource() error {
	b, ok := bodies[k.kind.text]
	if !ok || !k.group.any && k.group.text != b.group || b.resource && k.subresource.text == "" {
		return nil
	}
	owner := b.owner
	if owner == "" {
		owner = "Deployment"
	}
	return fmt.Errorf("names what is sent to a subresource, and requests are matched by the resource that they are about; name the resource and its subresource, such as %s/%s", owner, b.subresource)
}
