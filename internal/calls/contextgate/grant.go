package contextgate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sallyport-io/sallyport/internal/text/fieldmask"
)

// Grant lets a policy read a resource, or part of it. The resource is named by
// Resource, or by Kind where that is empty.
type Grant struct {
	Group, Version, Resource string
	Kind                     string
	// Namespaces and Names that are granted; all of them where the list is empty.
	Namespaces, Names []string
	// LabelSelector selects the objects that are granted; nil for all of them.
	LabelSelector *metav1.LabelSelector
	// Fields that are granted, such as metadata.labels; all of them where the list
	// is empty. What says which object it is comes along in any case.
	Fields []string
}

// grant is a Grant, checked.
type grant struct {
	Grant
	selector labels.Selector
	mask     *fieldmask.Mask
	key      string
}

func compile(from *Grant) (*grant, error) {
	g := &grant{Grant: *from}
	for _, f := range []struct{ path, value string }{
		{".group", g.Group}, {".version", g.Version}, {".resource", g.Resource}, {".kind", g.Kind},
	} {
		if strings.ContainsAny(f.value, "*/ ") {
			return nil, fmt.Errorf("%s: %q names no single one; every resource that is granted is listed by itself, without subresources", f.path, f.value)
		}
	}
	switch {
	case g.Resource == "" && g.Kind == "":
		return nil, fmt.Errorf(".resource: it is missing; give the plural that kubectl api-resources shows")
	case g.Resource != "" && g.Kind != "":
		return nil, fmt.Errorf(".kind: %q stands beside the resource %q; one of them is enough", g.Kind, g.Resource)
	case g.Resource != strings.ToLower(g.Resource):
		return nil, fmt.Errorf(".resource: %q has upper case letters; give the plural that kubectl api-resources shows", g.Resource)
	case g.Version == "":
		return nil, fmt.Errorf(".version: it is missing; give one such as v1")
	case slices.Contains(g.Namespaces, ""):
		return nil, fmt.Errorf(".namespaces: a name in it is empty")
	case slices.Contains(g.Names, ""):
		return nil, fmt.Errorf(".names: a name in it is empty")
	}
	var err error
	g.selector = labels.Everything()
	if g.LabelSelector != nil {
		if g.selector, err = metav1.LabelSelectorAsSelector(g.LabelSelector); err != nil {
			return nil, fmt.Errorf(".labelSelector: %w", err)
		}
	}
	if len(g.Fields) > 0 {
		mask, err := fieldmask.Parse(g.Fields)
		if err != nil {
			return nil, fmt.Errorf(".fields: %w", err)
		}
		g.mask = fieldmask.Union(mask, fieldmask.Identity())
	}
	g.Namespaces, g.Names = sorted(g.Namespaces), sorted(g.Names)
	g.key = fmt.Sprintf("%q %q %q %q", g.Namespaces, g.Names, g.selector.String(), g.mask.Paths())
	return g, nil
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// String names the resource of the grant.
func (g *grant) String() string {
	name := g.Resource
	if name == "" {
		name = g.Kind
	}
	if g.Group != "" {
		name += "." + g.Group
	}
	return name
}

// covers reports whether the grant is for a resource. Its version does not
// matter: every version that is served shows the same objects.
func (g *grant) covers(r Resource) bool {
	if g.Group != r.Group {
		return false
	}
	if g.Resource != "" {
		return g.Resource == r.Resource
	}
	return g.Kind == r.Kind
}

// may reports whether the grant can hold for an object by its namespace and name,
// which are empty where they are not known yet.
func (g *grant) may(r Resource, namespace, name string) bool {
	if len(g.Namespaces) > 0 && !r.Namespaced {
		// No object without a namespace is in one of them.
		return false
	}
	return (namespace == "" || len(g.Namespaces) == 0 || slices.Contains(g.Namespaces, namespace)) &&
		(name == "" || len(g.Names) == 0 || slices.Contains(g.Names, name))
}

// resolve finds the resource that the grant names.
func (g *grant) resolve(ctx context.Context, mapper Mapper) (Resource, error) {
	name := g.Kind
	if name == "" {
		name = g.Resource
	}
	version := g.Version
	if g.Group != "" {
		version = g.Group + "/" + g.Version
	}
	r, err := mapper.Resolve(ctx, version, name)
	if err == nil && !g.covers(r) {
		// Singulars, short of being refused, would grant nothing: what is read is judged
		// as the resource that it is.
		if g.Resource != "" {
			return r, fmt.Errorf("resource: %q is not the plural, so it grants nothing; write %q", g.Resource, r.Resource)
		}
		return r, fmt.Errorf("kind: %q is not the kind as the cluster writes it, so it grants nothing; write %q", g.Kind, r.Kind)
	}
	return r, err
}
