package stored

import (
	"encoding/json"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// How a broken object is read: each part by itself. A part that narrows what the
// object is about and cannot be read is left out; a list of alternatives of which
// one cannot be read is taken for everything. So what is read is never less than
// what the object may mean.

// Spec is the spec of the object; false where there is none.
func (b *Broken) Spec() (map[string]any, bool) {
	spec, ok := b.Object["spec"].(map[string]any)
	return spec, ok
}

// Strictly decodes a part as it is decoded in an object that works.
func Strictly[T any](part any) (T, bool) {
	var into struct {
		Part T `json:"part"`
	}
	raw, err := json.Marshal(map[string]any{"part": part})
	if part == nil || err != nil || apijson.UnmarshalStrict(raw, &into) != nil {
		var none T
		return none, false
	}
	return into.Part, true
}

// StringsIn reads a list of strings, or a single one in its place.
func StringsIn(part any) ([]string, bool) {
	if one, ok := part.(string); ok {
		return []string{one}, true
	}
	list, _ := Strictly[[]string](part)
	return list, len(list) > 0
}

// TextIn reads a string; empty where there is none.
func TextIn(object map[string]any, name string) string {
	text, _ := object[name].(string)
	return text
}

// OnlyKnown reports whether an object has no other fields than these.
func OnlyKnown(object map[string]any, names ...string) bool {
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	for name := range object {
		if !known[name] {
			return false
		}
	}
	return true
}
