package clusterpolicy

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// everything matches whatever there is.
func everything() *match.Match {
	m, _ := match.CompileOpen(nil, field.NewPath("match"))
	return m
}

var (
	resourceFields = []string{"kinds", "name", "names", "namespaces", "annotations", "selector", "namespaceSelector", "operations"}
	filterFields   = []string{"resources", "subjects", "roles", "clusterRoles", "kind", "name", "namespace"}
)

// widestMatch reads a match block. all is set where it has to be taken for
// everything.
func widestMatch(part any) (m *match.Match, all bool) {
	at := field.NewPath("match")
	if block, ok := stored.Strictly[v1alpha1.Match](part); ok {
		if m, errs := match.Compile(&block, at); len(errs) == 0 {
			return m, false
		}
	}
	block, ok := part.(map[string]any)
	if !ok || !stored.OnlyKnown(block, append([]string{"any", "all"}, filterFields...)...) {
		return everything(), true
	}
	if all, only := block["all"].([]any); only && len(block) == 1 {
		return widestAll(all)
	}
	// Whichever of the forms is meant, one of these filters has to hold.
	var filters []v1alpha1.ResourceFilter
	short := map[string]any{}
	var parts []any
	for _, name := range []string{"any", "all"} {
		list, ok := block[name].([]any)
		if _, given := block[name]; given && !ok {
			return everything(), true
		}
		parts = append(parts, list...)
	}
	for _, name := range filterFields {
		if value, given := block[name]; given {
			short[name] = value
		}
	}
	if len(short) > 0 {
		parts = append(parts, short)
	}
	for _, part := range parts {
		filter, ok := widestFilter(part)
		if !ok {
			return everything(), true
		}
		filters = append(filters, filter)
	}
	m, errs := match.Compile(&v1alpha1.Match{Any: filters}, at)
	if len(errs) > 0 {
		return everything(), true
	}
	return m, false
}

// widestAll reads filters each of which has to hold: those that can be read.
func widestAll(parts []any) (m *match.Match, all bool) {
	var filters []v1alpha1.ResourceFilter
	for _, part := range parts {
		if filter, ok := widestFilter(part); ok {
			filters = append(filters, filter)
		}
	}
	m, errs := match.Compile(&v1alpha1.Match{All: filters}, field.NewPath("match"))
	if len(errs) > 0 {
		return everything(), true
	}
	return m, false
}

// widestFilter keeps what can be read of a filter; false where that is nothing.
func widestFilter(part any) (v1alpha1.ResourceFilter, bool) {
	filter, _ := part.(map[string]any)
	kept := map[string]any{}
	for _, name := range filterFields {
		value, given := filter[name]
		switch {
		case !given:
		case name == "resources":
			if resources := widestResources(value); len(resources) > 0 {
				kept[name] = resources
			}
		default:
			if _, ok := filterOf(map[string]any{name: value}); ok {
				kept[name] = value
			}
		}
	}
	if whole, ok := filterOf(kept); ok {
		return whole, true
	}
	// Together they match nothing: the kinds, if there are any, are what counts.
	resources, _ := kept["resources"].(map[string]any)
	if kinds, ok := resources["kinds"]; ok {
		return filterOf(map[string]any{"resources": map[string]any{"kinds": kinds}})
	}
	return filterOf(map[string]any{"kind": kept["kind"]})
}

func widestResources(part any) map[string]any {
	resources, _ := part.(map[string]any)
	kept := map[string]any{}
	for _, name := range resourceFields {
		value, given := resources[name]
		if !given {
			continue
		}
		if one, ok := value.(string); ok && name != "name" {
			value = []any{one}
		}
		if _, ok := filterOf(map[string]any{"resources": map[string]any{name: value}}); ok {
			kept[name] = value
		}
	}
	return kept
}

// filterOf is the filter that a part is, if it can work.
func filterOf(part map[string]any) (v1alpha1.ResourceFilter, bool) {
	filter, ok := stored.Strictly[v1alpha1.ResourceFilter](part)
	if !ok {
		return filter, false
	}
	_, errs := match.Compile(&v1alpha1.Match{Any: []v1alpha1.ResourceFilter{filter}}, field.NewPath("match"))
	return filter, len(errs) == 0
}

// narrowestMatch reads an exclude block: of what it takes out, only what is sure.
func narrowestMatch(part any) *match.Match {
	at := field.NewPath("exclude")
	if block, ok := stored.Strictly[v1alpha1.Match](part); ok {
		if m, errs := match.Compile(&block, at); len(errs) == 0 {
			return m
		}
	}
	block, ok := part.(map[string]any)
	if !ok || !stored.OnlyKnown(block, "any") {
		return nil
	}
	list, _ := block["any"].([]any)
	var filters []v1alpha1.ResourceFilter
	for _, part := range list {
		one, _ := part.(map[string]any)
		if filter, ok := filterOf(one); ok {
			filters = append(filters, filter)
		}
	}
	// A block of which nothing is sure excludes nothing.
	m, _ := match.Compile(&v1alpha1.Match{Any: filters}, at)
	return m
}
