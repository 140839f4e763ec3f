package standard

import "github.com/sallyport-io/sallyport/internal/review/pod"

// Containers must be required to run as another user than root.
//
// Fields, of the pod and of each container:
//
//	securityContext.runAsNonRoot
//
// Allowed: true; not set for the pod, where every container sets it; not set
// for a container, where the pod sets it. Since v1.35 pods in a user namespace
// (hostUsers: false) are excused.
var runAsNonRoot = []control{
	{
		id:        "runAsNonRoot",
		name:      "Running as Non-root",
		pod:       judgePodNonRoot,
		container: judgeContainerNonRoot,
	},
	{
		id:        "runAsNonRoot",
		since:     35,
		name:      "Running as Non-root",
		unless:    inUserNamespace,
		pod:       judgePodNonRoot,
		container: judgeContainerNonRoot,
	},
}

const nonRootField = "securityContext.runAsNonRoot"

func judgePodNonRoot(s *scan) {
	if sc := s.spec.SecurityContext; sc != nil && isFalse(sc.RunAsNonRoot) {
		s.field("spec."+nonRootField, "false", "must be true")
	}
}

func judgeContainerNonRoot(s *scan, c pod.Container) {
	if sc := c.SecurityContext; sc != nil && sc.RunAsNonRoot != nil {
		if !*sc.RunAsNonRoot {
			s.inContainer(c, nonRootField, "false", "must be true")
		}
		return
	}
	if sc := s.spec.SecurityContext; sc == nil || !isTrue(sc.RunAsNonRoot) {
		s.inContainer(c, nonRootField, "", "must be true, here or for the pod")
	}
}
