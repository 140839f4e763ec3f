package convert

import (
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// pattern takes a pattern, or a list of them, without variables and references, and
// writes what kubectl apply would lose so that it stays.
func pattern(c *converter, value any, at place) any {
	c.findVariables(value, at.path)
	return c.lasting(value, at.path, "", false)
}

// lasting writes null and {} of a pattern in a form that stays. key is that of the
// value, without its anchor; free is set where the keys of a map are labels or
// annotations, whose values are strings.
func (c *converter) lasting(value any, path, key string, free bool) any {
	switch v := value.(type) {
	case []any:
		items := make([]any, len(v))
		for i, inner := range v {
			items[i] = c.lasting(inner, apijson.Element(path, i), "", false)
		}
		return items
	case map[string]any:
		fields := make(map[string]any, len(v))
		for _, written := range slices.Sorted(maps.Keys(v)) {
			below := apijson.Child(path, written)
			lasting, inner, keep := c.lastingField(written, v[written], below, free)
			if !keep {
				continue
			}
			name := strings.TrimSuffix(lasting[strings.Index(lasting, "(")+1:], ")")
			fields[lasting] = c.lasting(inner, below, name, key == "metadata" && (name == "labels" || name == "annotations"))
		}
		return fields
	}
	return value
}

// lastingField writes a key and its value so that they stay. keep is false where they
// ask nothing.
func (c *converter) lastingField(key string, value any, path string, free bool) (string, any, bool) {
	anchor, name, anchored := strings.Cut(key, "(")
	name = strings.TrimSuffix(name, ")")
	switch {
	case value == nil && anchored && anchor == "X":
		return key, absent, true
	case value == nil && free && (!anchored || anchor == "="):
		if !anchored {
			name = key
		}
		// Of strings, what is not at least one character.
		return "=(" + name + ")", "!?*", true
	case value == nil && (!anchored || anchor == "="):
		if !anchored {
			name = key
		}
		c.differ(path, "null, which kubectl apply loses, is written as X("+name+"): \"null\", which refuses \"\", 0 and false too; where these may stand, write =("+name+"): with that value")
		return "X(" + name + ")", absent, true
	case value == nil && anchored && (anchor == "" || anchor == "<"):
		return key, "!?* | 0 | false", true
	case !isEmpty(value) || anchored && (anchor == "X" || anchor == "^"):
		return key, value, true
	case anchored && anchor == "=":
		c.drop(place{path: path}, "{} asks nothing of what stands there")
		return "", nil, false
	}
	// Something other than null is there.
	return key, "*", true
}

// isEmpty reports whether a value is {}, or a list of nothing else.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(item any) bool { m, ok := item.(map[string]any); return !ok || len(m) > 0 })
	}
	return false
}

// absent is the value of X( ) that says nothing.
const absent = "null"
