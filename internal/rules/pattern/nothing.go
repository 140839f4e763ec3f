package pattern

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// Nulls says what is wrong with each null in a pattern that stands at path; none
// where there is no null.
func Nulls(pattern any, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch v := pattern.(type) {
	case nil:
		errs = append(errs, effect.NullInPattern.Error(path, nil, insteadOfNull(none, "")))
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below := child(path, key)
			if v[key] != nil {
				errs = append(errs, Nulls(v[key], below)...)
			} else if kind, name, err := parseKey(key); err == nil {
				errs = append(errs, nothingAsked(kind, name, nil, below))
			}
		}
	case []any:
		for i := range v {
			errs = append(errs, Nulls(v[i], path.Index(i))...)
		}
	}
	return errs
}

// nothingAsked refuses null, and {} where everything matches it, as the value of a
// key. It is nil for any other value.
func nothingAsked(kind anchor, name string, value any, path *field.Path) *field.Error {
	if value == nil {
		return effect.NullInPattern.Error(path, nil, insteadOfNull(kind, name))
	}
	if kind == equality && isEmptyMap(value) {
		return effect.EmptyInPattern.Error(path, "{}")
	}
	return nil
}

func isEmptyMap(value any) bool {
	m, ok := value.(map[string]any)
	return ok && len(m) == 0
}

// insteadOfNull says what to write in place of null, the value of a key; name is
// empty for an item of a list.
func insteadOfNull(kind anchor, name string) string {
	switch {
	case name == "":
		return "what the items have to match, or leave it out"
	case kind == negation:
		return keyOf(negation, name) + `: "null", in quotes`
	case kind == condition || kind == global:
		return keyOf(kind, name) + `: "", or with false or 0, for a field that is there and empty`
	case kind == existence:
		return "the list of maps of which each has to match an item"
	}
	return keyOf(negation, name) + `: "null" where the field must not be there, or ` + keyOf(equality, name) + `: "", with false or 0 for a bool or a number, where it may be there and empty`
}

// keyOf writes a key with its anchor.
func keyOf(kind anchor, name string) string {
	for sign, is := range anchors {
		if is == kind {
			return sign + "(" + name + ")"
		}
	}
	return name
}

// note says what a key and its value seem to ask and do not.
func (c *compiler) note(kind anchor, name string, value any, path *field.Path, at place) {
	if kind == negation {
		if !saysNothing(value) {
			c.notes = append(c.notes, effect.ValueOfAbsent.Note(path, textOf(value), name, name))
		}
		return
	}
	if isEmptyMap(value) {
		c.notes = append(c.notes, effect.OnlyThere.Note(path, keyOf(kind, name)))
		return
	}
	text, ok := value.(string)
	if !ok {
		return
	}
	switch {
	case text == "" && !at.hasFreeKeys() && kind == condition:
		c.notes = append(c.notes, effect.EmptyText.Note(path, "the rule is not applied where the field is missing or has a value", name))
	case text == "" && !at.hasFreeKeys() && kind == none:
		c.notes = append(c.notes, effect.EmptyText.Note(path, "no other value is let in, and no object without the field", name))
	}
}

// saysNothing reports whether a value of X( ) says no more than that the field must not be
// there.
func saysNothing(value any) bool {
	switch v := value.(type) {
	case string:
		return slices.Contains([]string{"null", "", "*", "?*"}, v)
	}
	return isEmptyMap(value)
}

// noteVariables says which strings of a pattern look as if they stood for something
// else.
func (c *compiler) noteVariables(text string, path *field.Path) {
	if strings.Contains(text, "{{") || strings.Contains(text, "$(") {
		c.notes = append(c.notes, effect.Variable.Note(path, strconv.Quote(text), "write the value itself, or the rule as validate.cel"))
	}
}
