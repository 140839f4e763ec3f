package standard

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// completed is a pod that someone adds to before it is made, with what is missing
// filled in as strictly as can be: it is held to what is written, and the pod that
// comes of it to the whole.
func completed(p *pod.Pod) *pod.Pod {
	strict := *p
	strict.Spec = p.Spec.DeepCopy()
	spec := strict.Spec
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	fill(&spec.SecurityContext.RunAsNonRoot, true)
	if spec.SecurityContext.SeccompProfile == nil {
		spec.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	for c := range strict.Containers() {
		if c.SecurityContext == nil {
			c.SecurityContext = &corev1.SecurityContext{}
		}
		fill(&c.SecurityContext.AllowPrivilegeEscalation, false)
		if c.SecurityContext.Capabilities == nil {
			c.SecurityContext.Capabilities = &corev1.Capabilities{}
		}
		if len(c.SecurityContext.Capabilities.Drop) == 0 {
			c.SecurityContext.Capabilities.Drop = []corev1.Capability{"ALL"}
		}
	}
	return &strict
}

func fill(at **bool, value bool) {
	if *at == nil {
		*at = &value
	}
}
