package pod

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SignificantUpdate reports whether an update must be judged again.
//
// A pod that runs goes on running, whatever a policy that came later thinks of
// it, and must stay possible to label, to finish and to delete. So an update of a
// Pod counts only if it changes what the Pod may do: its spec, except for the fields
// below, and the annotations that belong to its security. A new or a changed
// ephemeral container, another image and everything else that the API server lets
// nobody change are among what counts.
//
// An update of a template counts if any field of it changes: what it makes is
// new. Where the two objects cannot be compared the answer is yes.
func SignificantUpdate(old, updated *Object) bool {
	if old == nil || updated == nil {
		return true
	}
	if old.GVK.GroupKind() != updated.GVK.GroupKind() || len(old.Pods) != len(updated.Pods) {
		return true
	}
	for i := range updated.Pods {
		before, after := &old.Pods[i], &updated.Pods[i]
		switch {
		case before.Path != after.Path || before.whole != after.whole || before.bare != after.bare:
			return true
		case after.whole && significantPod(before, after):
			return true
		case !after.whole && !sameTemplate(before, after):
			return true
		}
	}
	return false
}

// SameTemplates reports whether two objects hold the same templates, wherever
// these stand in them.
func SameTemplates(a, b *Object) bool {
	return slices.EqualFunc(a.Pods, b.Pods, func(a, b Pod) bool { return sameTemplate(&a, &b) })
}

func sameTemplate(a, b *Pod) bool {
	return apiequality.Semantic.DeepEqual(a.Meta, b.Meta) && apiequality.Semantic.DeepEqual(a.Spec, b.Spec)
}

func significantPod(before, after *Pod) bool {
	return !maps.Equal(securityAnnotations(before.Meta), securityAnnotations(after.Meta)) ||
		!apiequality.Semantic.DeepEqual(judged(before.Spec), judged(after.Spec))
}

// judged is the spec without the fields that may change in a Pod and that say
// nothing about what it may do: where it is scheduled, how long it lives and how
// much of the node's resources it gets. The spec itself stays as it is.
func judged(spec *corev1.PodSpec) *corev1.PodSpec {
	s := *spec
	s.ActiveDeadlineSeconds = nil
	s.TerminationGracePeriodSeconds = nil
	s.Tolerations = nil
	s.NodeSelector = nil
	s.Affinity = nil
	s.SchedulingGates = nil
	s.Resources = nil
	s.InitContainers = withoutResources(s.InitContainers)
	s.Containers = withoutResources(s.Containers)
	return &s
}

func withoutResources(containers []corev1.Container) []corev1.Container {
	out := slices.Clone(containers)
	for i := range out {
		out[i].Resources = corev1.ResourceRequirements{}
		out[i].ResizePolicy = nil
	}
	return out
}

// securityPrefixes begin the annotations by which AppArmor and seccomp profiles
// are chosen, or were.
var securityPrefixes = []string{
	corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix,
	corev1.SeccompPodAnnotationKey,
	corev1.SeccompContainerAnnotationKeyPrefix,
}

func securityAnnotations(meta *metav1.ObjectMeta) map[string]string {
	var found map[string]string
	for key, value := range meta.Annotations {
		for _, prefix := range securityPrefixes {
			if strings.HasPrefix(key, prefix) {
				if found == nil {
					found = map[string]string{}
				}
				found[key] = value
			}
		}
	}
	return found
}
