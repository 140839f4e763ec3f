package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Schema struct {
				OpenAPI *schema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// schema is what is read of a structural schema.
type schema struct {
	Description string             `json:"description"`
	Type        string             `json:"type"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	Values      *schema            `json:"additionalProperties"`
	Required    []string           `json:"required"`
	Enum        []any              `json:"enum"`
	Default     json.RawMessage    `json:"default"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	MinItems    *int               `json:"minItems"`
	MaxItems    *int               `json:"maxItems"`
	MinLength   *int               `json:"minLength"`
	MaxLength   *int               `json:"maxLength"`
	Pattern     string             `json:"pattern"`
	Rules       []rule             `json:"x-kubernetes-validations"`
}

// rule is a validation in CEL.
type rule struct {
	Message string `json:"message"`
	Rule    string `json:"rule"`
}

// text is what the rule says to whoever breaks it.
func (r rule) text() string {
	if r.Message == "" {
		return "Holds: `" + r.Rule + "`."
	}
	return "Else refused: \"" + strings.Join(strings.Fields(r.Message), " ") + "\"."
}

// write adds a section for each version.
func (d *definition) write(w io.Writer) error {
	names := d.Spec.Names
	if names.Kind == "" || len(d.Spec.Versions) == 0 {
		return fmt.Errorf("no kind or no version stands there")
	}
	for _, version := range d.Spec.Versions {
		root := version.Schema.OpenAPI
		if root == nil {
			return fmt.Errorf("version %s of %s has no schema", version.Name, names.Kind)
		}
		fmt.Fprintf(w, "\n## %s\n\n%s\n\n", names.Kind, sentence(root.Description))
		fmt.Fprintf(w, "`apiVersion: %s/%s` · %s", d.Spec.Group, version.Name, scopes[d.Spec.Scope])
		fmt.Fprintf(w, " · `kubectl get %s`", strings.Join(append([]string{names.Plural}, names.ShortNames...), "` or `kubectl get "))
		fmt.Fprint(w, "\n\n| field | type | |\n|---|---|---|\n")
		for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
			if name == "apiVersion" || name == "kind" || name == "metadata" {
				continue
			}
			root.Properties[name].row(w, name, slices.Contains(root.Required, name))
		}
		for _, rule := range root.Rules {
			fmt.Fprintf(w, "\n%s\n", rule.text())
		}
	}
	return nil
}

var scopes = map[string]string{"Cluster": "one for the cluster", "Namespaced": "in a namespace"}

// row writes the table row of a field, and those of the fields in it.
func (s *schema) row(w io.Writer, path string, required bool) {
	fmt.Fprintf(w, "| `%s` | %s | %s |\n", path, s.typeName(), cell(s.about(required)))
	inner := s
	for inner.Items != nil || inner.Values != nil {
		if inner.Items != nil {
			inner, path = inner.Items, path+"[]"
		} else {
			inner, path = inner.Values, path+".*"
		}
	}
	if inner.isCondition() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(inner.Properties)) {
		inner.Properties[name].row(w, path+"."+name, slices.Contains(inner.Required, name))
	}
}

// isCondition reports whether a schema is that of metav1.Condition, which the
// documentation of Kubernetes describes.
func (s *schema) isCondition() bool {
	for _, name := range []string{"lastTransitionTime", "message", "reason", "status", "type"} {
		if s.Properties[name] == nil {
			return false
		}
	}
	return true
}

// typeName is the type in words.
func (s *schema) typeName() string {
	switch {
	case s.Items != nil && s.Items.isCondition():
		return "list of Condition"
	case s.Items != nil:
		return "list of " + s.Items.typeName()
	case s.Values != nil:
		return "map of " + s.Values.typeName()
	case s.Type == "":
		return "any"
	default:
		return s.Type
	}
}
