package pod

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MakesKind reports whether objects of a kind of that name, in some group, can
// hold pods.
func (r *Registry) MakesKind(kind string) bool {
	if r.unsure {
		return true
	}
	for gk := range r.kinds {
		if gk.Kind == kind {
			return true
		}
	}
	return false
}

// Kinds are all of them, in order.
func (r *Registry) Kinds() []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(r.kinds), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
}

// Registered are the registrations of a kind that is not built in.
func (r *Registry) Registered(gk schema.GroupKind) []Registration {
	return slices.Clone(r.registered[gk])
}

// Custom are the kinds that are not built in, in order.
func (r *Registry) Custom() []schema.GroupKind {
	return slices.DeleteFunc(r.Kinds(), builtIn)
}

// Resources are what the objects of the kinds that are not built in are asked for by,
// in order: what an API server has to ask about so that they are judged. served says
// what a cluster serves a kind as, and whether it does; with nil, or where it does not
// know, the usual plural is used.
func (r *Registry) Resources(served func(schema.GroupKind) (resource string, ok bool)) []schema.GroupResource {
	var resources []schema.GroupResource
	for _, gk := range r.Custom() {
		resource, ok := "", false
		if served != nil {
			resource, ok = served(gk)
		}
		if !ok {
			resource = r.plural(gk)
		}
		resources = append(resources, schema.GroupResource{Group: gk.Group, Resource: resource})
	}
	return resources
}

func (r *Registry) plural(gk schema.GroupKind) string {
	for _, reg := range r.registered[gk] {
		if reg.Resource != "" {
			return reg.Resource
		}
	}
	usual, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
	return usual.Resource
}
