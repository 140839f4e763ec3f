package standard

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// excusable is a control of the Pod Security Standards with the fields that it
// restricts at either level and in any version.
type excusable struct {
	// name on the page, and others that it goes by.
	name    string
	aliases []string
	// pod are fields of the pod, container those of each container.
	pod, container []restrictedField
}

// restrictedField is a field of a control.
type restrictedField struct {
	// name as the page writes it: from the pod, or from a container.
	name string
	// at is the shape of its paths in findings, where that is not the name.
	at string
	// annotation is the key of an annotation, or what its key begins with, then
	// with a * at the end. Empty for any other field.
	annotation string
	// faults are all the values that a finding can have, "" for not set. Nil
	// where there is no end of them.
	faults []string
	// isPath is set for a path on the node, isList for a list of names.
	isPath, isList bool
	// of reports whether a revision of a check looks at the field; nil where each
	// of the control does.
	of func(*control) bool

	// How a value is set that the control allows. One of them is not nil, except
	// for an annotation, which is deleted. index stands for the [*] of the field.
	inPod       func(spec *corev1.PodSpec, index int)
	inContainer func(c *corev1.Container, index int)
	volume      *volumeSource
}

// shape is the form of the paths of findings about the field.
func (f *restrictedField) shape() string {
	if f.at != "" {
		return f.at
	}
	return f.name
}

// isAnnotation reports whether the field is the annotation of a key.
func (f *restrictedField) isAnnotation(key string) bool {
	prefix, many := strings.CutSuffix(f.annotation, "*")
	if many {
		return strings.HasPrefix(key, prefix)
	}
	return f.annotation != "" && key == f.annotation
}

// excusableTable holds the controls in the order in which errors list them, and
// by each of their names.
type excusableTable struct {
	list   []*excusable
	byName map[string]*excusable
}

// excusables is the table of the controls.
var excusables = sync.OnceValue(func() *excusableTable {
	list := slices.Concat(excusableOfHosts(), excusableOfProfiles(), excusableOfUsers())
	t := &excusableTable{byName: map[string]*excusable{}}
	for i := range list {
		c := &list[i]
		t.list = append(t.list, c)
		t.byName[c.name] = c
		for _, alias := range c.aliases {
			t.byName[alias] = c
		}
	}
	return t
})

// names are the names of the controls as the page gives them.
func (t *excusableTable) names() []string {
	names := make([]string, len(t.list))
	for i, c := range t.list {
		names[i] = c.name
	}
	return names
}

// fieldNames are the names of the fields of the pod and of all containers, as
// the page writes them.
func (c *excusable) fieldNames() []string {
	var names []string
	for i := range c.pod {
		names = append(names, c.pod[i].name)
	}
	for _, kind := range []pod.Kind{pod.Main, pod.Init, pod.Ephemeral} {
		for i := range c.container {
			names = append(names, containerField(kind)+c.container[i].name)
		}
	}
	return names
}

// containerField is how the page writes a container of a list.
func containerField(kind pod.Kind) string { return "spec." + kind.Field() + "[*]." }

// unquoted takes off the quotes that the page, and others, put around the key of
// an annotation.
var unquoted = strings.NewReplacer(`["`, "[", `"]`, "]", `['`, "[", `']`, "]")

// lookup finds a field by its name, or by the path of a finding with [*] for
// every index. kind is the list of the container; it means nothing for a field
// of the pod.
func (c *excusable) lookup(name string) (field *restrictedField, kind pod.Kind) {
	name = unquoted.Replace(name)
	for i := range c.pod {
		if f := &c.pod[i]; unquoted.Replace(f.name) == name || f.at != "" && f.at == name {
			return f, 0
		}
	}
	for _, kind := range containerKinds {
		rest, ok := strings.CutPrefix(name, containerField(kind))
		if !ok {
			continue
		}
		for i := range c.container {
			if f := &c.container[i]; f.name == rest || f.at != "" && f.at == rest {
				return f, kind
			}
		}
	}
	return nil, 0
}
