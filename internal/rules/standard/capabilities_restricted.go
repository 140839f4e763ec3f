package standard

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Containers must drop every capability, and may add one back.
//
// Fields, of each container:
//
//	securityContext.capabilities.drop
//
// Allowed: a list with ALL in it. Since v1.25 pods for Windows are excused.
//
//	securityContext.capabilities.add[*]
//
// Allowed: nothing, NET_BIND_SERVICE. Since v1.25 pods for Windows are excused.
var capabilitiesRestricted = []control{
	{
		id:        "capabilities_restricted",
		since:     22,
		name:      "Capabilities",
		container: judgeCapabilitiesRestricted,
	},
	{
		id:        "capabilities_restricted",
		since:     25,
		name:      "Capabilities",
		unless:    onWindows,
		container: judgeCapabilitiesRestricted,
	},
}

var restrictedCapabilities = []corev1.Capability{"NET_BIND_SERVICE"}

func judgeCapabilitiesRestricted(s *scan, c pod.Container) {
	var dropped []corev1.Capability
	if c.SecurityContext != nil && c.SecurityContext.Capabilities != nil {
		dropped = c.SecurityContext.Capabilities.Drop
	}
	if !slices.Contains(dropped, "ALL") {
		value := ""
		if len(dropped) > 0 {
			value = jsonOf(dropped)
		}
		s.inContainer(c, "securityContext.capabilities.drop", value, `must include "ALL"`)
	}
	addedCapabilities(s, c, restrictedCapabilities, "is not NET_BIND_SERVICE, the one capability that may be added")
}
