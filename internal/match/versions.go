package match

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Versions lists the versions of a kind that entries of the block name, and by which
// the same object can be written as by gvk, which is not among them. Patterns of
// versions are left out.
func (m *Match) Versions(gvk schema.GroupVersionKind, subresource string) []schema.GroupVersionKind {
	if m == nil {
		return nil
	}
	other, two := OtherGroup(gvk.Group, strings.ToLower(gvk.Kind)+"s")
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
