package standard

import corev1 "k8s.io/api/core/v1"

// excusableOfUsers are the controls of who a process is and what it may become.
func excusableOfUsers() []excusable {
	return []excusable{
		{
			name: "Privileged Containers",
			container: []restrictedField{{
				name: "securityContext.privileged", faults: isSet,
				inContainer: ofContainer(func(sc *corev1.SecurityContext) { sc.Privileged = nil }),
			}},
		},
		{
			name:    "Privilege Escalation",
			aliases: []string{"Privilege Escalation (v1.8+)"},
			container: []restrictedField{{
				name: "securityContext.allowPrivilegeEscalation", faults: []string{"true", ""},
				inContainer: ofContainer(func(sc *corev1.SecurityContext) { sc.AllowPrivilegeEscalation = new(bool) }),
			}},
		},
		{
			name: "Running as Non-root",
			pod: []restrictedField{{
				name: "spec." + nonRootField, faults: []string{"false"},
				// Not set, containers that do not set it are at fault as they
				// were before.
				inPod: ofPod(func(sc *corev1.PodSecurityContext) { sc.RunAsNonRoot = nil }),
			}},
			container: []restrictedField{{
				name: nonRootField, faults: []string{"false", ""},
				inContainer: ofContainer(func(sc *corev1.SecurityContext) {
					yes := true
					sc.RunAsNonRoot = &yes
				}),
			}},
		},
		{
			name:    "Running as Non-root user",
			aliases: []string{"Running as Non-root user (v1.23+)"},
			pod: []restrictedField{{
				name: "spec." + runAsUserField, faults: []string{"0"},
				inPod: ofPod(func(sc *corev1.PodSecurityContext) { sc.RunAsUser = nil }),
			}},
			container: []restrictedField{{
				name: runAsUserField, faults: []string{"0"},
				inContainer: ofContainer(func(sc *corev1.SecurityContext) { sc.RunAsUser = nil }),
			}},
		},
	}
}
