package standard

import "github.com/sallyport-io/sallyport/internal/review/pod"

// HostProcess containers of Windows run on the node itself.
//
// Fields, of the pod and of each container:
//
//	securityContext.windowsOptions.hostProcess
//
// Allowed: not set, false.
var hostProcess = []control{{
	id:   "windowsHostProcess",
	name: "HostProcess",
	pod: func(s *scan) {
		sc := s.spec.SecurityContext
		if sc != nil && sc.WindowsOptions != nil && isTrue(sc.WindowsOptions.HostProcess) {
			s.field("spec."+hostProcessField, "true", mustBeFalse)
		}
	},
	container: func(s *scan, c pod.Container) {
		sc := c.SecurityContext
		if sc != nil && sc.WindowsOptions != nil && isTrue(sc.WindowsOptions.HostProcess) {
			s.inContainer(c, hostProcessField, "true", mustBeFalse)
		}
	},
}}

const (
	hostProcessField = "securityContext.windowsOptions.hostProcess"

	mustBeFalse = "must be false or not set"
)
