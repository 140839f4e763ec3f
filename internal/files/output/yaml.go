package output

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// YAML writes an object as somebody would: without a status and without fields
// that are empty.
func YAML(object any) (string, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("the object cannot be written: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return "", fmt.Errorf("the object cannot be written: %w", err)
	}
	delete(tree, "status")
	text, err := yaml.Marshal(prune(tree))
	if err != nil {
		return "", fmt.Errorf("the object cannot be written: %w", err)
	}
	return string(text), nil
}

// prune leaves out nulls and empty maps.
func prune(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if inner = prune(inner); inner == nil {
				delete(v, key)
			} else {
				v[key] = inner
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return value
}
