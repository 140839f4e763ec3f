package policy

import (
	"encoding/json"

	"github.com/sallyport-io/sallyport/internal/text/wire"
)

// How a broken object is read: each part by itself. A part that narrows what the
// object is about and cannot be read is left out; a list of alternatives of which
// one cannot be read is taken for everything. So what is read is never less than
// what the object may mean.

// spec is the spec of the object; false where there is none.
func (b *Broken) spec() (map[string]any, bool) {
	spec, ok := b.object["spec"].(map[string]any)
	return spec, ok
}

// strictly decodes a part as it is decoded in an object that works.
func strictly[T any](part any) (T, bool) {
	var into struct {
		Part T `json:"part"`
	}
	raw, err := json.Marshal(map[string]any{"part": part})
	if part == nil || err != nil || wire.UnmarshalStrict(raw, &into) != nil {
		var none T
		return none, false
	}
	return into.Part, true
}

// stringsIn reads a list of strings, or a single one in its place.
func stringsIn(part any) ([]string, bool) {
	if one, ok := part.(string); ok {
		return []string{one}, true
	}
	list, _ := strictly[[]string](part)
	return list, len(list) > 0
}

// textIn reads a string; empty where there is none.
func textIn(object map[string]any, name string) string {
	text, _ := object[name].(string)
	return text
}

// onlyKnown reports whether an object has no other fields than these.
func onlyKnown(object map[string]any, names ...string) bool {
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
