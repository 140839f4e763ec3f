package match

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// ExactKinds returns the names of the kinds that the block is about, or false
// where a wildcard, or a filter that names no kind, makes them open. They are
// kinds of resources, also of those whose subresources are named: see KindOf.
func (m *Match) ExactKinds() (map[string]struct{}, bool) {
	names := map[string]struct{}{}
	if m == nil {
		return names, true
	}
	if m.open {
		return nil, false
	}
	for i := range m.filters {
		kinds := m.filters[i].exactKinds()
		switch {
		case kinds == nil:
			return nil, false
		case m.all && i > 0:
			for name := range names {
				if !slices.Contains(kinds, name) {
					delete(names, name)
				}
			}
		default:
			for _, name := range kinds {
				names[name] = struct{}{}
			}
		}
	}
	return names, true
}

// exactKinds lists the kinds of the filter, each once; nil where they are open.
func (f *filter) exactKinds() []string {
	var names []string
	for i := range f.kinds {
		name, exact := f.kinds[i].Exact()
		if !exact {
			return nil
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// PodScope says how a block names Pods, which decides whether a rule carries over
// to what makes them.
type PodScope struct {
	// Only: every filter names the core kind Pod, without a subresource, and no
	// other kind.
	Only bool
	// Named: some filter names it.
	Named bool
	// Mixed: it is named, and another kind, a wildcard or a subresource with it;
	// or, where one filter is enough, some filter names no kind and is about all.
	Mixed bool
	// Narrow: names, a selector or annotations narrow the block to some.
	Narrow bool
	// Subresource: a subresource of Pods is named that a bare Pod is not about.
	Subresource bool
	// Wild: a pattern for kinds matches Pod, and not all that makes pods.
	Wild bool
}

// Pods says how the block names Pods.
func (m *Match) Pods() PodScope {
	if m == nil || m.open {
		return PodScope{}
	}
	scope := PodScope{Only: true}
	other := false
	for i := range m.filters {
		f := &m.filters[i]
		if len(f.kinds) == 0 {
			scope.Only = false
			other = other || !m.all
		}
		for j := range f.kinds {
			kind := &f.kinds[j]
			if kind.OnlyPods() {
				scope.Named = true
				continue
			}
			if kind.namesPods() && (slices.Contains(changesPods, kind.subresource.text) || kind.subresource.text == statusSubresource) {
				continue
			}
			other, scope.Only = true, false
			scope.Subresource = scope.Subresource || kind.namesPods()
			scope.Wild = scope.Wild || kind.kind.pattern && kind.Match(corePod, "") && !kind.Match(deployment, "")
		}
		scope.Narrow = scope.Narrow || f.nameEntries.given() || f.selector != nil || f.annotations != nil
	}
	scope.Mixed, scope.Only = scope.Named && other, scope.Only && scope.Named
	return scope
}

var (
	corePod    = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	deployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// Kinds calls visit with each entry that names a kind and with its path; path is
// that of the block.
func (m *Match) Kinds(path *field.Path, visit func(Kind, *field.Path)) {
	if m == nil {
		return
	}
	for i := range m.filters {
		f := &m.filters[i]
		for j, kind := range f.kinds {
			visit(kind, f.kindEntries.at(f.place.in(path), j))
		}
	}
}

// Namespaces calls visit with each name or pattern of a namespace and with its
// path; path is that of the block.
func (m *Match) Namespaces(path *field.Path, visit func(pattern string, at *field.Path)) {
	if m == nil {
		return
	}
	for i := range m.filters {
		f := &m.filters[i]
		for j, pattern := range f.namespaceEntries.values {
			visit(pattern, f.namespaceEntries.at(f.place.in(path), j))
		}
	}
}

// NeedsUser reports whether the block has conditions on the user.
func (m *Match) NeedsUser() bool {
	return m != nil && slices.ContainsFunc(m.filters, func(f filter) bool { return f.user != nil })
}

// NamesEveryNamespace reports whether the block holds for no namespace but those
// that it names: every filter names some or, where all have to hold, one does.
func (m *Match) NamesEveryNamespace() bool {
	if m == nil || m.open || len(m.filters) == 0 {
		return false
	}
	named := func(f filter) bool { return f.namespaceEntries.given() }
	if m.all {
		return slices.ContainsFunc(m.filters, named)
	}
	return !slices.ContainsFunc(m.filters, func(f filter) bool { return !named(f) })
}

// MayBeAbout reports whether the block can be about objects of the kind, by the
// kinds that it names.
func (m *Match) MayBeAbout(kind schema.GroupVersionKind) bool {
	return m.may(kind, "", func(*filter) bool { return true })
}

// MayAsk reports whether the block can be about requests with an operation for a kind, or
// a subresource of it, by the kinds and the operations that it names.
func (m *Match) MayAsk(kind schema.GroupVersionKind, subresource string, operation request.Operation) bool {
	return m.may(kind, subresource, func(f *filter) bool { return f.operations.match(operation) })
}

// may reports whether the block can be about a kind, or a subresource of it, by the kinds
// that its filters name and by what else has to hold of each.
func (m *Match) may(kind schema.GroupVersionKind, subresource string, holds func(*filter) bool) bool {
	if m == nil {
		return false
	}
	if m.open {
		return true
	}
	r := reading{Target: &Target{Kind: kind, Subresource: subresource}, gvk: kind}
	for i := range m.filters {
		f := &m.filters[i]
		if is := f.matchKind(&r) && holds(f); is != m.all {
			return is
		}
	}
	return m.all
}
