package standard

import "github.com/sallyport-io/sallyport/internal/review/pod"

// Privileged containers have nearly every protection taken off.
//
// Fields, of each container:
//
//	securityContext.privileged
//
// Allowed: not set, false.
var privileged = []control{{
	id:   "privileged",
	name: "Privileged Containers",
	container: func(s *scan, c pod.Container) {
		if c.SecurityContext != nil && isTrue(c.SecurityContext.Privileged) {
			s.inContainer(c, "securityContext.privileged", "true", mustBeFalse)
		}
	},
}}
