package standard

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// reword words a violation for some of its findings: its check is asked about a
// pod in which everything else that it found is mended.
func (l *places) reword(v Violation, kept []decision.Finding) Violation {
	if v.step == nil {
		paths := make([]string, len(kept))
		for i := range kept {
			paths[i] = kept[i].Path
		}
		v.Findings, v.Detail = kept, strings.Join(paths, ", ")
		return v
	}
	control := excusables().byName[v.Control]
	m := mendedCopy(l.pod)
	for i := range v.all {
		path := v.all[i].Path
		if slices.ContainsFunc(kept, func(f decision.Finding) bool { return f.Path == path }) {
			continue
		}
		if at, ok := l.find(control, path); ok {
			m.mend(&at)
		}
	}
	m.fillVolumes()
	reworded := v.step.violation(&m.Pod, kept)
	reworded.all, reworded.under = v.all, v.under
	return reworded
}

// mended is a pod of which some fields are set to what a check allows. It shares
// the rest with the pod that it is a copy of, which is not written to.
type mended struct {
	pod.Pod
	spec corev1.PodSpec
	meta metav1.ObjectMeta
	// lists of containers, by kind, and volumes that are copied already.
	containers [3]bool
	volumes    bool
	// sources are the volumes that lost one.
	sources []int
}

func mendedCopy(p *pod.Pod) *mended {
	m := &mended{Pod: *p, spec: *p.Spec, meta: *p.Meta}
	m.Spec, m.Meta = &m.spec, &m.meta
	m.meta.Annotations = maps.Clone(p.Meta.Annotations)
	return m
}

// mend sets the field at a place of the pod that this one is a copy of.
func (m *mended) mend(at *place) {
	switch {
	case at.key != "":
		delete(m.meta.Annotations, at.key)
	case at.container != nil:
		m.copyContainers(at.kind)
		at.field.inContainer(containerAt(&m.spec, at.kind, at.at), at.index)
	case at.field.volume != nil:
		m.takeSource(at.index, at.field.volume)
	default:
		at.field.inPod(&m.spec, at.index)
	}
}

func (m *mended) copyContainers(kind pod.Kind) {
	if m.containers[kind] {
		return
	}
	m.containers[kind] = true
	switch kind {
	case pod.Init:
		m.spec.InitContainers = slices.Clone(m.spec.InitContainers)
	case pod.Main:
		m.spec.Containers = slices.Clone(m.spec.Containers)
	default:
		m.spec.EphemeralContainers = slices.Clone(m.spec.EphemeralContainers)
	}
}

// takeSource takes one of its sources from a volume.
func (m *mended) takeSource(index int, source *volumeSource) {
	if index >= len(m.spec.Volumes) {
		return
	}
	if !m.volumes {
		m.volumes, m.spec.Volumes = true, slices.Clone(m.spec.Volumes)
	}
	source.clear(&m.spec.Volumes[index].VolumeSource)
	m.sources = append(m.sources, index)
}

// fillVolumes gives an allowed source to the volumes that lost their last one.
// Before all are taken, it would hide those that are still to be reported.
func (m *mended) fillVolumes() {
	for _, index := range m.sources {
		if source := &m.spec.Volumes[index].VolumeSource; *source == (corev1.VolumeSource{}) {
			source.EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
	}
}
