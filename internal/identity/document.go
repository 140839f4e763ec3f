package identity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// DocumentField is the field of a pod's spec that the document proposes. No API
// server has it, so it is found in files, and in custom kinds that keep what they
// do not know. What stands there is claimed, whether or not a source has its key:
// a field that asks for validation must not go without it.
const DocumentField = "validatedAnnotations"

// document reads that field of each pod in the object.
func (c *collector) document(o *pod.Object) error {
	if len(o.Pods) == 0 || !mentions(o.Raw) {
		return nil
	}
	tree, err := o.Tree()
	if err != nil {
		return err
	}
	for i := range o.Pods {
		subtree, err := o.Pods[i].Subtree(tree)
		if err != nil {
			return err
		}
		spec, _ := subtree["spec"].(map[string]any)
		if err := c.written(spec[DocumentField], o.Pods[i].FieldPath("spec."+DocumentField)); err != nil {
			return err
		}
	}
	return nil
}

// mentions reports whether the JSON may hold the field: by its name as it stands,
// or with some letter of it written as an escape.
func mentions(raw []byte) bool {
	// The capital is rare, and so quickly searched for.
	if bytes.Contains(raw, []byte("Annotations")) && bytes.Contains(raw, []byte(DocumentField)) {
		return true
	}
	for {
		i := bytes.Index(raw, []byte(`\u00`))
		if i < 0 || len(raw) < i+5 {
			return false
		}
		// Letters of ASCII are from 41 to 7a.
		if digit := raw[i+4]; digit >= '4' && digit <= '7' {
			return true
		}
		raw = raw[i+4:]
	}
}

// carried reads the annotation that stands for the field.
func (c *collector) carried(p *pod.Pod) error {
	text, ok := p.Meta.Annotations[v1alpha1.AnnotationValidatedAnnotations]
	if !ok {
		return nil
	}
	path := apijson.Child(p.FieldPath("metadata.annotations"), v1alpha1.AnnotationValidatedAnnotations)
	var value any
	if err := apijson.Unmarshal([]byte(text), &value); err != nil {
		return fmt.Errorf("%s: %w", within(c.prefix, path), err)
	}
	return c.written(value, path)
}

// written reads a map of keys and values, or a list of such maps.
func (c *collector) written(value any, path string) error {
	switch value := value.(type) {
	case nil:
		return nil
	case map[string]any:
		return c.writtenMap(value, path)
	case []any:
		for i, item := range value {
			entry, ok := item.(map[string]any)
			if !ok {
				return c.wrong(apijson.Element(path, i), "something else was found, a key with its value belongs here")
			}
			if err := c.writtenMap(entry, apijson.Element(path, i)); err != nil {
				return err
			}
		}
		return nil
	default:
		return c.wrong(path, "something else was found, a list of keys with their values belongs here")
	}
}

func (c *collector) writtenMap(entries map[string]any, path string) error {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		place := apijson.Child(path, key)
		value, ok := entries[key].(string)
		if !ok {
			return c.wrong(place, fmt.Sprintf("the value of the identity %.100q is not a string; put it in quotes", key))
		}
		if c.set != nil {
			if s := c.set.byKey[key]; s != nil {
				if err := c.add(s, value, place); err != nil {
					return err
				}
				continue
			}
		}
		claim := Claim{Key: key, Value: value, Path: place, Form: v1alpha1.ReviewValidatedAnnotation}
		if fault := faultOfKey(key, claim.Form); fault != "" {
			claim.Fault = "its key " + fault
		} else {
			claim.Fault = faultOf(value, claim.Form)
		}
		if err := c.take(claim); err != nil {
			return err
		}
	}
	return nil
}

// Carry puts what the JSON of a pod has in the document's field into the
// annotation of the typed pod, which has no such field, so that it is not lost
// where a pod of a file stands for one of the cluster. The error names the field.
func Carry(raw []byte, p *corev1.Pod) error {
	if !mentions(raw) {
		return nil
	}
	tree, err := apijson.Tree(raw)
	if err != nil {
		return err
	}
	spec, _ := tree["spec"].(map[string]any)
	value := spec[DocumentField]
	if value == nil {
		return nil
	}
	if _, both := p.Annotations[v1alpha1.AnnotationValidatedAnnotations]; both {
		return &apijson.Error{Path: "spec." + DocumentField, Detail: "stands beside the annotation " + v1alpha1.AnnotationValidatedAnnotations + "; write one of the two"}
	}
	if err := (&collector{}).written(value, "spec."+DocumentField); err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return &apijson.Error{Path: "spec." + DocumentField, Detail: "cannot be kept: " + err.Error(), Err: err}
	}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[v1alpha1.AnnotationValidatedAnnotations] = string(text)
	return nil
}
