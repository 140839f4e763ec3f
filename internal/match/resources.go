package match

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/glob"
)

// Resources is a compiled match block: one of its filters has to hold.
type Resources struct {
	filters []kindFilter
}

type kindFilter struct {
	kinds []Kind
	// anyNamespace is set where the filter does not narrow to namespaces.
	anyNamespace bool
	namespaces   glob.List
}

// CompileResources compiles a match block that stands at path. A filter that can
// match nothing is an error.
func CompileResources(m *v1alpha1.Match, path *field.Path) (*Resources, field.ErrorList) {
	var errs field.ErrorList
	if len(m.Any) == 0 {
		return nil, field.ErrorList{field.Required(path.Child("any"), "matches nothing; give at least one filter with resources.kinds")}
	}
	compiled := &Resources{filters: make([]kindFilter, 0, len(m.Any))}
	for i := range m.Any {
		resources := m.Any[i].Resources
		at := path.Child("any").Index(i).Child("resources")
		if resources == nil {
			errs = append(errs, field.Required(at, "matches nothing; name at least one kind"))
			continue
		}
		f := kindFilter{anyNamespace: len(resources.Namespaces) == 0, namespaces: glob.NewList(resources.Namespaces)}
		if len(resources.Kinds) == 0 {
			errs = append(errs, field.Required(at.Child("kinds"), "matches nothing; name at least one kind"))
		}
		for j, entry := range resources.Kinds {
			kind, err := ParseKind(entry)
			if err == nil && kind.Subresource() != "" {
				err = errors.New("names a subresource, and a subresource cannot be named here")
			}
			if err != nil {
				errs = append(errs, field.Invalid(at.Child("kinds").Index(j), entry, err.Error()))
				continue
			}
			f.kinds = append(f.kinds, kind)
		}
		if resources.Namespaces != nil && len(resources.Namespaces) == 0 {
			errs = append(errs, field.Required(at.Child("namespaces"), "an empty list matches nothing; name one or more, or leave the field out for every namespace"))
		}
		for j, pattern := range resources.Namespaces {
			if err := checkNamespacePattern(pattern); err != nil {
				errs = append(errs, field.Invalid(at.Child("namespaces").Index(j), pattern, err.Error()))
			}
		}
		compiled.filters = append(compiled.filters, f)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return compiled, nil
}

// Match reports whether the block is about an object of the kind in the
// namespace; namespace is empty for an object that has none.
func (r *Resources) Match(gvk schema.GroupVersionKind, namespace string) bool {
	for i := range r.filters {
		f := &r.filters[i]
		if !f.anyNamespace && !f.namespaces.Match(namespace) {
			continue
		}
		for j := range f.kinds {
			if f.kinds[j].Match(gvk, "") {
				return true
			}
		}
	}
	return false
}

// OnlyPods reports whether every filter is about Pods alone, so that the rule
// holds for whatever makes pods as well.
func (r *Resources) OnlyPods() bool {
	for i := range r.filters {
		for j := range r.filters[i].kinds {
			if !r.filters[i].kinds[j].OnlyPods() {
				return false
			}
		}
	}
	return true
}

// NamesPods reports whether some filter names Pods.
func (r *Resources) NamesPods() bool {
	for i := range r.filters {
		for j := range r.filters[i].kinds {
			if r.filters[i].kinds[j].OnlyPods() {
				return true
			}
		}
	}
	return false
}

// Kinds lists the entries of all filters with the path of each below the match
// block.
func (r *Resources) Kinds(path *field.Path, visit func(Kind, *field.Path)) {
	for i := range r.filters {
		for j, kind := range r.filters[i].kinds {
			visit(kind, path.Child("any").Index(i).Child("resources", "kinds").Index(j))
		}
	}
}

// ExactKinds returns the kind names that the block is about, or false where a
// wildcard makes them open.
func (r *Resources) ExactKinds() (map[string]struct{}, bool) {
	names := map[string]struct{}{}
	for i := range r.filters {
		for j := range r.filters[i].kinds {
			name, exact := r.filters[i].kinds[j].Exact()
			if !exact {
				return nil, false
			}
			names[name] = struct{}{}
		}
	}
	return names, true
}
