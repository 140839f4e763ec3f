package call

import (
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// Target is what the request is about, as match blocks see it. It is made once.
func (c *Call) Target() *match.Target {
	if c.matched != nil {
		return c.matched
	}
	r := c.Request
	t := &match.Target{
		Kind:        match.KindOf(r.Resource, r.Subresource, r.Kind),
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
		Operation: OperationOf(r), NamespaceLabels: c.NamespaceLabels, Roles: c.boundRoles,
	}
	if match.KindHidden(r.Resource, r.Subresource, r.Kind) {
		t.Kind = r.Resource.GroupVersion().WithKind("")
		t.Kind.Kind, t.KindUnread = c.hiddenKind()
	}
	t.Relabels = RelabelsBySubresource(r, t.Kind)
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
	case c.Access != nil && c.Access.Node != "":
		t.Name = c.Access.Node
	case c.Access != nil:
		t.Name = c.Access.Pod
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
func (c *Call) hiddenKind() (string, error) {
	resource := c.Request.Resource
	namer, ok := c.Request.Cluster.(request.KindNamer)
	if !ok {
		return "", fmt.Errorf("which kind %s are cannot be read here", resource.GroupResource())
	}
	kind, err := namer.KindOf(c.Ctx, resource)
	if err != nil {
		return "", fmt.Errorf("which kind %s are cannot be read: %w", resource.GroupResource(), err)
	}
	return kind, nil
}

// RelabelsBySubresource reports whether an update of a subresource that is written as
// the whole object, such as its status, changes the object's labels or annotations as
// well, which the API server lets it for most kinds. kind is that of the object.
func RelabelsBySubresource(r *request.Request, kind schema.GroupVersionKind) bool {
	return r.Operation == request.Update && r.Subresource != "" && r.Kind == kind && r.Object != nil && r.OldObject != nil &&
		(!maps.Equal(r.Object.Meta.Labels, r.OldObject.Meta.Labels) || !maps.Equal(r.Object.Meta.Annotations, r.OldObject.Meta.Annotations))
}

// describe fills in what an object says of itself.
func (c *Call) describe(t *match.Target, object *pod.Object) {
	t.Kind = object.GVK
	t.Name, t.GenerateName = object.Meta.Name, object.Meta.GenerateName
	t.Labels, t.Annotations = object.Meta.Labels, object.Meta.Annotations
	if t.Name == "" {
		t.Name = c.Request.Name
	}
}

var errUnshown = errors.New("the request does not show them")

// Excusable is what an exception can match. Where the request carries no object, its
// labels and annotations are those of the pod that is entered, and of all else they are
// not known: that a label is missing must not be taken from there.
func (c *Call) Excusable() *match.Target {
	if c.Request.Object != nil || c.Request.OldObject != nil {
		return c.Target()
	}
	t := *c.Target()
	switch {
	case c.Access == nil || c.Access.Node != "":
		t.Unshown = errUnshown
	case c.Request.Cluster == nil:
		t.Unshown = ErrNoCluster
	default:
		pods, err := c.EnteredPods()
		if err != nil {
			t.Unshown = err
			break
		}
		t.Labels, t.Annotations = pods[0].Meta.Labels, pods[0].Meta.Annotations
	}
	return &t
}

// AccessTargets are what an exception to a DenyPolicy can match: the way in, such
// as Pod/exec, and the pod itself, since a DenyPolicy is about nothing but ways
// into pods.
func (c *Call) AccessTargets() []*match.Target {
	way := c.Excusable()
	if c.Access == nil {
		return []*match.Target{way}
	}
	whole := *way
	whole.Subresource = ""
	return []*match.Target{way, &whole}
}

// boundRoles reads which roles are bound to the user, once.
func (c *Call) boundRoles() (roles, clusterRoles []string, err error) {
	if !c.rolesRead {
		c.rolesRead = true
		reader, ok := c.Request.Cluster.(request.RoleReader)
		if !ok {
			c.rolesErr = fmt.Errorf("which roles are bound to %s cannot be read here", c.Request.User.Name)
		} else {
			c.roles, c.clusterRoles, c.rolesErr = reader.RolesOf(c.Ctx, c.Request.User, c.Request.Namespace)
		}
	}
	return c.roles, c.clusterRoles, c.rolesErr
}
