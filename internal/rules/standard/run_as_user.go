package standard

import "github.com/sallyport-io/sallyport/internal/review/pod"

// Nothing may be told to run as the user root.
//
// Fields, of the pod and of each container, since v1.23:
//
//	securityContext.runAsUser
//
// Allowed: not set, anything but 0. Since v1.35 pods in a user namespace
// (hostUsers: false) are excused.
var runAsUser = []control{
	{
		id:        "runAsUser",
		since:     23,
		name:      "Running as Non-root user",
		pod:       judgePodUser,
		container: judgeContainerUser,
	},
	{
		id:        "runAsUser",
		since:     35,
		name:      "Running as Non-root user",
		unless:    inUserNamespace,
		pod:       judgePodUser,
		container: judgeContainerUser,
	},
}

const (
	runAsUserField  = "securityContext.runAsUser"
	runAsUserDetail = "must not be 0"
)

func judgePodUser(s *scan) {
	if sc := s.spec.SecurityContext; sc != nil && sc.RunAsUser != nil && *sc.RunAsUser == 0 {
		s.field("spec."+runAsUserField, "0", runAsUserDetail)
	}
}

func judgeContainerUser(s *scan, c pod.Container) {
	if sc := c.SecurityContext; sc != nil && sc.RunAsUser != nil && *sc.RunAsUser == 0 {
		s.inContainer(c, runAsUserField, "0", runAsUserDetail)
	}
}
