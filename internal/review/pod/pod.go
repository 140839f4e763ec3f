// Package pod says what a pod is: where pods are found in objects, and what stands
// in them and at which field path.
package pod

import (
	"iter"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod is a pod, or the template of one, with the path that it was found at.
type Pod struct {
	// Path from the root of the object to the fields metadata and spec of the
	// pod: empty for a Pod, "spec.template" for a Deployment. It says where the
	// pod is; the paths of its fields are those that FieldPath and ContainerPath
	// give.
	Path string
	// Meta and Spec are never nil.
	Meta *metav1.ObjectMeta
	Spec *corev1.PodSpec
	// Live is set for a pod that was read from a cluster, and so has been
	// through its admission: what its spec does not hold, it does not have.
	Live bool
	// Completed is set where whoever makes the pod adds to what stands here: what is
	// there counts, and what is missing says nothing.
	Completed bool

	// whole is set for a Pod, in contrast to the template of one: other changes of
	// it count.
	whole bool
	// bare is set where Path leads to a pod spec, with no metadata beside it.
	bare bool
	// assembly is set for a pod whose parts stand in several places.
	assembly *assembly
}

// FromPod takes a pod that was read from a cluster. It shares the memory of p.
func FromPod(p *corev1.Pod) Pod {
	return Pod{Meta: &p.ObjectMeta, Spec: &p.Spec, Live: true, whole: true}
}

// Kind is the list of a pod spec that a container stands in.
type Kind uint8

// The lists, in the order in which they are walked.
const (
	Init Kind = iota
	Main
	Ephemeral
)

// Field is the name of the list in a pod spec.
func (k Kind) Field() string {
	switch k {
	case Init:
		return "initContainers"
	case Main:
		return "containers"
	default:
		return "ephemeralContainers"
	}
}

// Container is a container with the place that it stands at.
type Container struct {
	*corev1.Container
	Kind  Kind
	Index int
}

// Containers walks every container of the pod: init (sidecars among them), main
// and ephemeral. There is no other way to walk containers in this project, so
// that none can be forgotten.
func (p *Pod) Containers() iter.Seq[Container] {
	return func(yield func(Container) bool) {
		for i := range p.Spec.InitContainers {
			if !yield(Container{&p.Spec.InitContainers[i], Init, i}) {
				return
			}
		}
		for i := range p.Spec.Containers {
			if !yield(Container{&p.Spec.Containers[i], Main, i}) {
				return
			}
		}
		for i := range p.Spec.EphemeralContainers {
			// The API promises that the two types stay convertible.
			c := (*corev1.Container)(&p.Spec.EphemeralContainers[i].EphemeralContainerCommon)
			if !yield(Container{c, Ephemeral, i}) {
				return
			}
		}
	}
}

// FieldPath is the path, from the root of the object, of a field that is given
// relative to the pod: FieldPath("spec.hostNetwork").
func (p *Pod) FieldPath(field string) string {
	if p.assembly != nil {
		return p.assembly.fieldPath(field)
	}
	if p.Path == "" {
		return field
	}
	if p.bare {
		if field == "spec" {
			return p.Path
		}
		field = strings.TrimPrefix(field, "spec.")
	}
	return p.Path + "." + field
}

// ContainerPath is the path, from the root of the object, of a field that is
// given relative to a container: ContainerPath(c, "securityContext.privileged").
// An empty field gives the path of the container itself.
func (p *Pod) ContainerPath(c Container, field string) string {
	container := "spec." + c.Kind.Field() + "[" + strconv.Itoa(c.Index) + "]"
	if field == "" {
		return p.FieldPath(container)
	}
	if p.assembly != nil {
		return p.FieldPath(container + "." + field)
	}
	return p.FieldPath(container) + "." + field
}

// Relative is the inverse of FieldPath: what a path from the root of the object is
// relative to the pod. It is false for one that leads elsewhere.
func (p *Pod) Relative(path string) (field string, ok bool) {
	if p.assembly != nil {
		return p.assembly.relative(path)
	}
	for _, root := range [...]string{"spec", "metadata"} {
		if rest, ok := cutPlace(path, p.FieldPath(root)); ok {
			return root + rest, true
		}
	}
	return "", false
}

// moveBelow has the paths of the pod counted from above the object that they were
// counted from, which stands at place.
func (p *Pod) moveBelow(place string) {
	p.Path = joinPaths(place, p.Path)
	if p.assembly != nil {
		p.assembly = p.assembly.below(place)
	}
}

// cutPlace cuts a place off the start of a path that leads to it or into it.
func cutPlace(path, place string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, place)
	return rest, ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
