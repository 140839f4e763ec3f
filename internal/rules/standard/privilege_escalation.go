package standard

import "github.com/sallyport-io/sallyport/internal/review/pod"

// Containers must not let a process gain more privileges than its parent has.
//
// Fields, of each container, since v1.8:
//
//	securityContext.allowPrivilegeEscalation
//
// Allowed: false. Since v1.25 pods for Windows are excused.
var privilegeEscalation = []control{
	{
		id:        "allowPrivilegeEscalation",
		since:     8,
		name:      "Privilege Escalation",
		container: judgePrivilegeEscalation,
	},
	{
		id:        "allowPrivilegeEscalation",
		since:     25,
		name:      "Privilege Escalation",
		unless:    onWindows,
		container: judgePrivilegeEscalation,
	},
}

func judgePrivilegeEscalation(s *scan, c pod.Container) {
	value := ""
	if sc := c.SecurityContext; sc != nil && sc.AllowPrivilegeEscalation != nil {
		if !*sc.AllowPrivilegeEscalation {
			return
		}
		value = "true"
	}
	s.inContainer(c, "securityContext.allowPrivilegeEscalation", value, "must be false")
}
