package standard

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// Containers must not add capabilities beyond those that container runtimes
// give by default. Names count as they are written: CAP_CHOWN is not CHOWN.
//
// Fields, of each container:
//
//	securityContext.capabilities.add[*]
//
// Allowed: nothing, and the names in defaultCapabilities.
var capabilitiesBaseline = []control{{
	id:   "capabilities_baseline",
	name: "Capabilities",
	container: func(s *scan, c pod.Container) {
		addedCapabilities(s, c, defaultCapabilities, "is not among the capabilities that may be added: AUDIT_WRITE, CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, MKNOD, NET_BIND_SERVICE, SETFCAP, SETGID, SETPCAP, SETUID, SYS_CHROOT")
	},
}}

var defaultCapabilities = []corev1.Capability{
	"AUDIT_WRITE",
	"CHOWN",
	"DAC_OVERRIDE",
	"FOWNER",
	"FSETID",
	"KILL",
	"MKNOD",
	"NET_BIND_SERVICE",
	"SETFCAP",
	"SETGID",
	"SETPCAP",
	"SETUID",
	"SYS_CHROOT",
}

// addedCapabilities reports each capability that a container adds and that is
// not allowed.
func addedCapabilities(s *scan, c pod.Container, allowed []corev1.Capability, detail string) {
	if c.SecurityContext == nil || c.SecurityContext.Capabilities == nil {
		return
	}
	for i, name := range c.SecurityContext.Capabilities.Add {
		if !slices.Contains(allowed, name) {
			s.inContainer(c, "securityContext.capabilities.add["+strconv.Itoa(i)+"]", string(name), detail)
		}
	}
}
