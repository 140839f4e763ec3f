package standard

import (
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// values are the values of a field that an entry excuses. Nil values excuse any.
type values struct {
	// list holds all of them, exact those without a wildcard.
	list, exact glob.List
}

// undefined are the words of the page for a field that is not set.
var undefined = []string{"undefined/nil", "undefined/null", `undefined/""`}

// newValues makes values of names and patterns. "" stands for a field that is
// not set or empty, and so do the words of the page.
func newValues(patterns []string) *values {
	all := make([]string, len(patterns))
	var exact []string
	for i, pattern := range patterns {
		if slices.Contains(undefined, strings.ToLower(pattern)) {
			pattern = ""
		}
		all[i] = pattern
		if !glob.IsPattern(pattern) {
			exact = append(exact, pattern)
		}
	}
	return &values{list: glob.NewList(all), exact: glob.NewList(exact)}
}

// cover reports whether the value of a finding at a place is among the values.
func (v *values) cover(at *place, value string) bool {
	if v == nil {
		return true
	}
	switch {
	case at.field.isPath && climbs(value):
		return v.exact.Match(value)
	case at.field.isList:
		return v.coverDropped(at, value)
	default:
		return v.list.Match(value)
	}
}

// coverDropped is cover for a list of capabilities that lacks ALL: every name in
// it has to be among the values, or the list as the finding shows it.
func (v *values) coverDropped(at *place, value string) bool {
	if value == "" {
		return v.list.Match("")
	}
	if v.exact.Match(value) {
		return true
	}
	if at.container == nil || at.container.SecurityContext == nil || at.container.SecurityContext.Capabilities == nil {
		return false
	}
	dropped := at.container.SecurityContext.Capabilities.Drop
	for _, name := range dropped {
		if !v.list.Match(string(name)) {
			return false
		}
	}
	return len(dropped) > 0
}

// climbs reports whether a path goes up: then it leads elsewhere than its
// beginning says, by which a pattern would take it.
func climbs(path string) bool {
	elements := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	return slices.Contains(elements, "..")
}
