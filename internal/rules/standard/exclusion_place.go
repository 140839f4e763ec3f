package standard

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// places finds in a pod what the paths of findings lead to.
type places struct {
	pod *pod.Pod
}

// place is what the path of a finding leads to.
type place struct {
	field *restrictedField
	// index is the number that stands for the [*] of the field.
	index int
	// container holds the field; nil for a field of the pod. kind and at say
	// where it stands.
	container *corev1.Container
	kind      pod.Kind
	at        int
	// key of the annotation, for a field that is one.
	key string
}

func placesOf(p *pod.Pod) places {
	return places{pod: p}
}

// find returns the place of a field that the control restricts. It is false for
// any other path, and for one that leads out of the pod.
func (l *places) find(control *excusable, path string) (place, bool) {
	path, ok := l.pod.Relative(path)
	if !ok {
		return place{}, false
	}
	if key, ok := strings.CutPrefix(path, "metadata.annotations["); ok {
		key, ok = strings.CutSuffix(key, "]")
		if !ok {
			return place{}, false
		}
		for i := range control.pod {
			if f := &control.pod[i]; f.isAnnotation(key) {
				return place{field: f, key: key}, true
			}
		}
		return place{}, false
	}
	path, ok = strings.CutPrefix(path, "spec.")
	if !ok {
		return place{}, false
	}
	for _, kind := range containerKinds {
		if rest, ok := strings.CutPrefix(path, kind.Field()); ok && strings.HasPrefix(rest, "[") {
			return l.inContainer(control, kind, rest)
		}
	}
	for i := range control.pod {
		f := &control.pod[i]
		if index, ok := matchShape(strings.TrimPrefix(f.shape(), "spec."), path); ok {
			return place{field: f, index: index}, true
		}
	}
	return place{}, false
}

var containerKinds = []pod.Kind{pod.Init, pod.Main, pod.Ephemeral}

// inContainer finds the place of "[2].securityContext.privileged" in a list of
// containers.
func (l *places) inContainer(control *excusable, kind pod.Kind, path string) (place, bool) {
	at, path, ok := cutIndex(path)
	if !ok || !strings.HasPrefix(path, ".") {
		return place{}, false
	}
	container := containerAt(l.pod.Spec, kind, at)
	if container == nil {
		return place{}, false
	}
	for i := range control.container {
		f := &control.container[i]
		if index, ok := matchShape(f.shape(), path[1:]); ok {
			return place{field: f, index: index, container: container, kind: kind, at: at}, true
		}
	}
	return place{}, false
}

// containerAt is a container of one of the lists, nil where the list ends before
// it.
func containerAt(spec *corev1.PodSpec, kind pod.Kind, at int) *corev1.Container {
	switch {
	case kind == pod.Init && at < len(spec.InitContainers):
		return &spec.InitContainers[at]
	case kind == pod.Main && at < len(spec.Containers):
		return &spec.Containers[at]
	case kind == pod.Ephemeral && at < len(spec.EphemeralContainers):
		return (*corev1.Container)(&spec.EphemeralContainers[at].EphemeralContainerCommon)
	}
	return nil
}

// matchShape reports whether a path has a shape, in which one [*] may stand for
// any index, and returns that index.
func matchShape(shape, path string) (index int, ok bool) {
	before, after, indexed := strings.Cut(shape, "[*]")
	if !indexed {
		return 0, path == shape
	}
	rest, ok := strings.CutPrefix(path, before)
	if !ok {
		return 0, false
	}
	index, rest, ok = cutIndex(rest)
	return index, ok && rest == after
}

// cutIndex cuts "[12]" off the start of a path.
func cutIndex(path string) (index int, rest string, ok bool) {
	if !strings.HasPrefix(path, "[") {
		return 0, "", false
	}
	digits, rest, ok := strings.Cut(path[1:], "]")
	if !ok {
		return 0, "", false
	}
	number, err := strconv.ParseUint(digits, 10, 31)
	return int(number), rest, err == nil
}
