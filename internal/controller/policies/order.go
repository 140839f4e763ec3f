package policies

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// inOrder returns objects in the order of their kinds and names, which is the one in
// which they count. Each name is looked up once: looking them up for each comparison
// took most of the time that a change took.
func inOrder(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	type named struct {
		Key
		object *unstructured.Unstructured
	}
	all := make([]named, len(objects))
	for i, o := range objects {
		all[i] = named{keyOf(o), o}
	}
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	sorted := make([]*unstructured.Unstructured, len(all))
	for i := range all {
		sorted[i] = all[i].object
	}
	return sorted
}
