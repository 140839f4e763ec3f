package pod

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MakesKind reports whether objects of a kind of that name, in some group, can
// hold pods.
func (r *Registry) MakesKind(kind string) bool {
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
