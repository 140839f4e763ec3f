package standard

import (
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Seccomp profiles must be set, for the pod or for every container, and must be
// the runtime's or the node's.
//
// Fields, of the pod and of each container, since v1.19:
//
//	securityContext.seccompProfile.type
//
// Allowed: RuntimeDefault, Localhost; for a container no profile either, where
// the pod's is one of these. Since v1.25 pods for Windows are excused.
var seccompRestricted = []control{
	{
		id:        "seccompProfile_restricted",
		since:     19,
		name:      "Seccomp",
		pod:       judgePodSeccomp,
		container: judgeContainerSeccomp,
	},
	{
		id:        "seccompProfile_restricted",
		since:     25,
		name:      "Seccomp",
		unless:    onWindows,
		pod:       judgePodSeccomp,
		container: judgeContainerSeccomp,
	},
}

const seccompRequired = "must be RuntimeDefault or Localhost"

func judgePodSeccomp(s *scan) {
	if sc := s.spec.SecurityContext; sc != nil && badSeccomp(sc.SeccompProfile) {
		s.field("spec."+seccompField, string(sc.SeccompProfile.Type), seccompRequired)
	}
}

func judgeContainerSeccomp(s *scan, c pod.Container) {
	if sc := c.SecurityContext; sc != nil && sc.SeccompProfile != nil {
		if badSeccomp(sc.SeccompProfile) {
			s.inContainer(c, seccompField, string(sc.SeccompProfile.Type), seccompRequired)
		}
		return
	}
	if sc := s.spec.SecurityContext; sc == nil || sc.SeccompProfile == nil || badSeccomp(sc.SeccompProfile) {
		s.inContainer(c, seccompField, "", seccompRequired+", here or for the pod")
	}
}
