package defaults

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// fill reads an object as the API server reads it, and writes it as it hands it
// on: with its defaults, through its internal form and back.
func fill(raw []byte) ([]byte, error) {
	internal, gvk, err := legacyscheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	object, err := legacyscheme.Scheme.New(*gvk)
	if err != nil {
		return nil, err
	}
	if err := legacyscheme.Scheme.Convert(internal, object, nil); err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(*gvk)
	if set, ok := object.(*appsv1.DaemonSet); ok && set.Annotations[appsv1.DeprecatedTemplateGeneration] == "0" {
		// As its strategy has it before admission.
		set.Annotations[appsv1.DeprecatedTemplateGeneration] = "1"
	}
	return json.Marshal(object)
}

// pair is an object as it is written, and as the API server has it.
type pair struct {
	In  json.RawMessage `json:"in"`
	Out json.RawMessage `json:"out"`
}

// filled makes a pair of an object; an error says that an API server would not
// read it.
func filled(raw []byte) (*pair, error) {
	out, err := fill(raw)
	if err != nil {
		return nil, err
	}
	return &pair{raw, out}, nil
}

func newObject(gvk schema.GroupVersionKind) (runtime.Object, error) {
	object, err := legacyscheme.Scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", gvk, err)
	}
	return object, nil
}
