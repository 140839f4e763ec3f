package match

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Versions lists the versions of a kind that entries of the block name, and by which
// the same object can be written as by gvk, which is not among them. Patterns of
// versions are left out.
func (m *Match) Versions(gvk schema.GroupVersionKind, subresource string) []schema.GroupVersionKind {
	if m == nil {
		return nil
	}
	other, two := OtherGroup(gvk.Group, pluralOf(gvk.Kind))
	var versions []schema.GroupVersionKind
	for i := range m.filters {
		for j := range m.filters[i].kinds {
			k := &m.filters[i].kinds[j]
			if !k.NamesVersion() || k.version.pattern && !k.version.any {
				continue
			}
			for _, group := range []string{gvk.Group, other} {
				named := schema.GroupVersionKind{Group: group, Version: k.version.text, Kind: gvk.Kind}
				if k.version.any {
					named.Version = gvk.Version
				}
				if named != gvk && (group == gvk.Group || two) && k.Match(named, subresource) && !slices.Contains(versions, named) {
					versions = append(versions, named)
				}
			}
		}
	}
	return versions
}

// Names reports whether some filter of the block names a kind in one version, and not
// in another one of it: what it says is then not said of that one.
func (m *Match) Names(version, other schema.GroupVersionKind) bool {
	return m != nil && slices.ContainsFunc(m.filters, func(f filter) bool { return f.namesKind(version) && !f.namesKind(other) })
}

// namesKind reports whether some entry of a filter is about a kind.
func (f *filter) namesKind(gvk schema.GroupVersionKind) bool {
	return slices.ContainsFunc(f.kinds, func(k Kind) bool { return k.Match(gvk, "") })
}
