package standard

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Seccomp profiles, where they are set, must be the runtime's or the node's.
//
// Fields, of the pod and of each container, since v1.19:
//
//	securityContext.seccompProfile.type
//
// Allowed: no profile, RuntimeDefault, Localhost.
//
// Annotations before v1.19; those of containers count for the containers that
// the pod has:
//
//	metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]
//	metadata.annotations[container.seccomp.security.alpha.kubernetes.io/*]
//
// Allowed: not set, runtime/default, docker/default, localhost/*.
var seccompBaseline = []control{
	{
		id:   "seccompProfile_baseline",
		name: "Seccomp",
		pod: func(s *scan) {
			bad := s.annotations(func(key, value string) bool {
				return badSeccompAnnotation(value) && namesSeccomp(s.pod, key)
			})
			for _, key := range bad {
				s.annotation(key, "must be runtime/default, docker/default, localhost/* or not set")
			}
		},
	},
	{
		id:    "seccompProfile_baseline",
		since: 19,
		name:  "Seccomp",
		pod: func(s *scan) {
			if sc := s.spec.SecurityContext; sc != nil && badSeccomp(sc.SeccompProfile) {
				s.field("spec."+seccompField, string(sc.SeccompProfile.Type), seccompDetail)
			}
		},
		container: func(s *scan, c pod.Container) {
			if sc := c.SecurityContext; sc != nil && badSeccomp(sc.SeccompProfile) {
				s.inContainer(c, seccompField, string(sc.SeccompProfile.Type), seccompDetail)
			}
		},
	},
}

const (
	seccompField  = "securityContext.seccompProfile.type"
	seccompDetail = "must be RuntimeDefault, Localhost or not set"

	seccompPodKey             = "seccomp.security.alpha.kubernetes.io/pod"
	seccompContainerKeyPrefix = "container.seccomp.security.alpha.kubernetes.io/"
)

// badSeccomp reports whether a profile is set, and to one that is not allowed.
func badSeccomp(profile *corev1.SeccompProfile) bool {
	return profile != nil &&
		profile.Type != corev1.SeccompProfileTypeRuntimeDefault &&
		profile.Type != corev1.SeccompProfileTypeLocalhost
}

func badSeccompAnnotation(value string) bool {
	return value != "runtime/default" && value != "docker/default" && !strings.HasPrefix(value, "localhost/")
}

// namesSeccomp reports whether an annotation is about the seccomp profile of
// the pod or of a container that it has.
func namesSeccomp(p *pod.Pod, key string) bool {
	if key == seccompPodKey {
		return true
	}
	name, ok := strings.CutPrefix(key, seccompContainerKeyPrefix)
	if !ok {
		return false
	}
	for c := range p.Containers() {
		if c.Name == name {
			return true
		}
	}
	return false
}
