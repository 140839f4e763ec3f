package modulepolicy

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
)

// nullSettings says which settings of a module may not arrive.
func nullSettings(settings *apiextensionsv1.JSON, at *field.Path) []effect.Note {
	if settings == nil {
		return nil
	}
	tree := clusterpolicy.AnyTree(settings.Raw)
	var notes []effect.Note
	var look func(value any, at *field.Path)
	look = func(value any, at *field.Path) {
		switch v := value.(type) {
		case nil:
			notes = append(notes, effect.NullInSettings.Note(at))
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				look(v[key], at.Child(key))
			}
		case []any:
			for i := range v {
				look(v[i], at.Index(i))
			}
		}
	}
	if tree != nil {
		look(tree, at)
	}
	return notes
}
