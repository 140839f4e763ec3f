package convert

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// YAML writes an object as a document of YAML, with the names of each map in
// order, and without a status. Empty maps and nulls stay: patterns mean something
// by them.
func YAML(o *Object) (string, error) {
	tree, err := apijson.Tree(o.Raw)
	if err != nil {
		return "", err
	}
	tree["apiVersion"], tree["kind"] = o.GVK.GroupVersion().String(), o.GVK.Kind
	delete(tree, "status")
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		return "", fmt.Errorf("cannot be written as YAML: %w", err)
	}
	return string(text), nil
}
