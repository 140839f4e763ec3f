package standard

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// The parts of /proc that container runtimes mask must stay masked.
//
// Fields, of each container:
//
//	securityContext.procMount
//
// Allowed: not set, Default. Since v1.35 the baseline excuses pods in a user
// namespace (hostUsers: false) and the restricted level, by a check of its own,
// does not.
var procMount = []control{
	{
		id:        "procMount",
		name:      "/proc Mount Type",
		container: judgeProcMount,
	},
	{
		id:        "procMount",
		since:     35,
		name:      "/proc Mount Type",
		unless:    inUserNamespace,
		container: judgeProcMount,
	},
	{
		id:        "procMount_restricted",
		since:     35,
		name:      "/proc Mount Type",
		container: judgeProcMount,
	},
}

func judgeProcMount(s *scan, c pod.Container) {
	if c.SecurityContext == nil || c.SecurityContext.ProcMount == nil {
		return
	}
	if mount := *c.SecurityContext.ProcMount; mount != corev1.DefaultProcMount {
		s.inContainer(c, "securityContext.procMount", string(mount), "must be Default or not set")
	}
}
