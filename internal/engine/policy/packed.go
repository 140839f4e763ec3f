package policy

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"unique"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// packedKey is where a packed object has what stands beside its metadata, as JSON. No
// object that was written by anyone has it.
var packedKey = rand.Text()

// Pack puts what an object says beside its kind and metadata into one string, which
// takes a small part of the memory: a Feed reads it once and then compares versions
// only. It changes the object, which is to be taken by nothing but a Feed. One that is
// packed already, or cannot be, stays as it is.
func Pack(o *unstructured.Unstructured) {
	if _, packed := o.Object[packedKey]; packed {
		return
	}
	said, left := map[string]any{}, make(map[string]any, 4)
	for key, value := range o.Object {
		switch key {
		case "apiVersion", "kind", "metadata":
			left[key] = shared(value)
		default:
			said[key] = value
		}
	}
	raw, err := json.Marshal(said)
	if err != nil {
		return
	}
	// Versions of which only the status differs are kept here and there: this once.
	left[packedKey] = unique.Make(string(raw)).Value()
	if metadata, ok := left["metadata"].(map[string]any); ok {
		few := make(map[string]any, len(metadata))
		for key, value := range metadata {
			if key == "namespace" {
				value = shared(value)
			}
			few[unique.Make(key).Value()] = value
		}
		left["metadata"] = few
	}
	o.Object = left
}

// shared is a value that many objects have, once.
func shared(value any) any {
	if text, ok := value.(string); ok {
		return unique.Make(text).Value()
	}
	return value
}

// unpacked is an object as it was before Pack; the object itself if it is not packed.
func unpacked(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	raw, packed := o.Object[packedKey].(string)
	if !packed {
		return o, nil
	}
	whole := maps.Clone(o.Object)
	delete(whole, packedKey)
	var said map[string]any
	if err := utiljson.Unmarshal([]byte(raw), &said); err != nil {
		return nil, fmt.Errorf("it cannot be read from where it was kept: %w", err)
	}
	maps.Copy(whole, said)
	return &unstructured.Unstructured{Object: whole}, nil
}
