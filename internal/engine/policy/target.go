package policy

import (
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// target is what the request is about, as match blocks see it. It is made once.
func (c *call) target() *match.Target {
	if c.matched != nil {
		return c.matched
	}
	r := c.request
	t := &match.Target{
		Kind:        match.KindOf(r.Resource, r.Subresource, r.Kind),
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
		Operation: operationOf(r), NamespaceLabels: c.namespaceLabels, Roles: c.boundRoles,
	}
	if match.KindHidden(r.Resource, r.Subresource, r.Kind) {
		t.Kind = r.Resource.GroupVersion().WithKind("")
		t.Kind.Kind, t.KindUnread = c.hiddenKind()
	}
	t.Relabels = relabelsBySubresource(r, t.Kind)
	if r.User.Name != "" {
		t.User = &r.User
	}
	switch {
	case r.Object != nil && t.Kind == r.Kind:
		c.describe(t, r.Object)
	case r.Object != nil:
		// What is sent to a subresource, such as a Scale, says little of what it is
		// sent to; the name is the same.
		t.Labels, t.Annotations = r.Object.Meta.Labels, r.Object.Meta.Annotations
	case r.OldObject != nil:
		t.Labels, t.Annotations = r.OldObject.Meta.Labels, r.OldObject.Meta.Annotations
	case c.access != nil && c.access.node != "":
		t.Name = c.access.node
	case c.access != nil:
		t.Name = c.access.pod
	}
	// A Namespace is in no namespace; the API server says that it is in itself.
	if t.Kind.Kind == "Namespace" && t.Kind.Group == "" {
		t.Namespace = ""
		t.NamespaceLabels = func() (map[string]string, error) { return t.Labels, nil }
	}
	c.matched = t
	return t
}

// hiddenKind reads which kind the resource is of.
func (c *call) hiddenKind() (string, error) {
	resource := c.request.Resource
	namer, ok := c.request.Cluster.(request.KindNamer)
	if !ok {
		return "", fmt.Errorf("which kind %s are cannot be read here", resource.GroupResource())
	}
	kind, err := namer.KindOf(c.ctx, resource)
	if err != nil {
		return "", fmt.Errorf("which kind %s are cannot be read: %w", resource.GroupResource(), err)
	}
	return kind, nil
}

// relabelsBySubresource reports whether an update of a subresource that is written as
// the whole object, such as its status, changes the object's labels or annotations as
// well, which the API server lets it for most kinds. kind is that of the object.
func relabelsBySubresource(r *request.Request, kind schema.GroupVersionKind) bool {
	return r.Operation == request.Update && r.Subresource != "" && r.Kind == kind && r.Object != nil && r.OldObject != nil &&
		(!maps.Equal(r.Object.Meta.Labels, r.OldObject.Meta.Labels) || !maps.Equal(r.Object.Meta.Annotations, r.OldObject.Meta.Annotations))
}

// describe fills in what an object says of itself.
func (c *call) describe(t *match.Target, object *pod.Object) {
	t.Kind = object.GVK
	t.Name, t.GenerateName = object.Meta.Name, object.Meta.GenerateName
	t.Labels, t.Annotations = object.Meta.Labels, object.Meta.Annotations
	if t.Name == "" {
		t.Name = c.request.Name
	}
}

var errUnshown = errors.New("the request does not show them")

// excusable is what an exception can match. Where the request carries no object, its
// labels and annotations are those of the pod that is entered, and of all else they are
// not known: that a label is missing must not be taken from there.
func (c *call) excusable() *match.Target {
	if c.request.Object != nil || c.request.OldObject != nil {
		return c.target()
	}
	t := *c.target()
	switch {
	case c.access == nil || c.access.node != "":
		t.Unshown = errUnshown
	case c.request.Cluster == nil:
		t.Unshown = errNoCluster
	default:
		pods, err := c.enteredPods()
		if err != nil {
			t.Unshown = err
			break
		}
		t.Labels, t.Annotations = pods[0].Meta.Labels, pods[0].Meta.Annotations
	}
	return &t
}

// accessTargets are what an exception to a DenyPolicy can match: the way in, such
// as Pod/exec, and the pod itself, since a DenyPolicy is about nothing but ways
// into pods.
func (c *call) accessTargets() []*match.Target {
	way := c.excusable()
	if c.access == nil {
		return []*match.Target{way}
	}
	whole := *way
	whole.Subresource = ""
	return []*match.Target{way, &whole}
}

// boundRoles reads which roles are bound to the user, once.
func (c *call) boundRoles() (roles, clusterRoles []string, err error) {
	if !c.rolesRead {
		c.rolesRead = true
		reader, ok := c.request.Cluster.(request.RoleReader)
		if !ok {
			c.rolesErr = fmt.Errorf("which roles are bound to %s cannot be read here", c.request.User.Name)
		} else {
			c.roles, c.clusterRoles, c.rolesErr = reader.RolesOf(c.ctx, c.request.User, c.request.Namespace)
		}
	}
	return c.roles, c.clusterRoles, c.rolesErr
}
