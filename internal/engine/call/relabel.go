package call

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Words says what becomes of labels: "the label a=b", "the label a, taken away,".
func (n *Relabelled) Words(keys []string) string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		if value, ok := n.After[key]; ok {
			texts[i] = key + "=" + value
		} else {
			texts[i] = key + " (removed)"
		}
	}
	if len(keys) == 1 {
		return "the label " + texts[0]
	}
	return "the labels " + strings.Join(texts, ",")
}

// Relabelled is a change of a namespace's labels, as a request would make it.
type Relabelled struct {
	exception.Relabelled
	Call *Call
}

// Relabelling reads a change of labels out of a request that writes a namespace; nil
// where there is none. A namespace that is made is compared with one of no labels. The
// label with its own name, which the API server sets, is the same before and after.
func (c *Call) Relabelling() (*Relabelled, error) {
	r := c.Request
	object := r.Object
	var before map[string]string
	if r.OldObject != nil {
		before = r.OldObject.Meta.Labels
	}
	keys := differing(before, object.Meta.Labels)
	if len(keys) == 0 {
		return nil, nil
	}
	name := object.Meta.Name
	if name == "" {
		name = r.Name
	}
	n := &Relabelled{Call: c}
	var err error
	if n.Old, n.New = (&corev1.Namespace{}), (&corev1.Namespace{}); r.OldObject != nil {
		err = apijson.Unmarshal(r.OldObject.Raw, n.Old)
	}
	if err == nil {
		err = apijson.Unmarshal(object.Raw, n.New)
	}
	if err != nil {
		return nil, err
	}
	if r.OldObject == nil {
		n.Old = n.New.DeepCopy()
		n.Old.Labels = nil
	}
	n.Keys = keys
	n.label(name, before, object.Meta.Labels)
	return n, nil
}

// label puts labels before and after the change.
func (n *Relabelled) label(name string, before, after map[string]string) {
	named := func(labels map[string]string) map[string]string {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[corev1.LabelMetadataName] = name
		return labels
	}
	n.Relabelling = &match.Relabelling{Namespace: name, Before: named(before), After: named(after)}
	n.Old.Labels, n.New.Labels = n.Before, n.After
}

// Without is the change with one label left as it was.
func (n *Relabelled) Without(key string) *Relabelled {
	after := maps.Clone(n.After)
	if value, ok := n.Before[key]; ok {
		after[key] = value
	} else {
		delete(after, key)
	}
	less := &Relabelled{Call: n.Call}
	less.Old, less.New = n.Old, n.New.DeepCopy()
	less.Keys = slices.DeleteFunc(slices.Clone(n.Keys), func(other string) bool { return other == key })
	less.label(n.Namespace, n.Before, after)
	return less
}

// differing are the keys of the labels that are not the same.
func differing(before, after map[string]string) []string {
	var keys []string
	for key, value := range after {
		if was, ok := before[key]; (!ok || was != value) && key != corev1.LabelMetadataName {
			keys = append(keys, key)
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok && key != corev1.LabelMetadataName {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
