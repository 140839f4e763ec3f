package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NamespaceFilter selects namespaces by name or by label. It is written either
// as a list of names and patterns, or as an object with patterns and
// selectorTerms; a namespace is selected when any entry of either matches.
//
// A structural schema cannot say "a list or an object", so each field of this type
// is marked to leave the shape open; UnmarshalJSON and the admission of the policy
// check it.
type NamespaceFilter struct {
	// Patterns are names of namespaces, with `*` and `?`.
	Patterns []string `json:"patterns,omitempty"`
	// SelectorTerms select namespaces by their labels: one term that matches is
	// enough.
	SelectorTerms []metav1.LabelSelector `json:"selectorTerms,omitempty"`
}

// UnmarshalJSON takes both forms. An unknown field is an error.
func (f *NamespaceFilter) UnmarshalJSON(data []byte) error {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		*f = NamespaceFilter{}
		if err := json.Unmarshal(data, &f.Patterns); err != nil {
			return fmt.Errorf("a list of namespaces holds names: %w", inWords(err))
		}
		return nil
	}
	type plain NamespaceFilter
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var p plain
	if err := decoder.Decode(&p); err != nil {
		return fmt.Errorf("namespaces takes a list of names, or an object with patterns and selectorTerms: %w", inWords(err))
	}
	*f = NamespaceFilter(p)
	return nil
}

// inWords words the error of a value of the wrong kind.
func inWords(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	found := wrong.Value
	if found == "bool" {
		found = "true or false"
	}
	at := ""
	if wrong.Field != "" {
		at = wrong.Field + ": "
	}
	if wrong.Type.Kind() == reflect.String && wrong.Value != "object" && wrong.Value != "array" {
		return fmt.Errorf("%sfound %s, a string belongs here: write it in quotes", at, found)
	}
	return fmt.Errorf("%sfound %s, which does not belong here", at, found)
}
