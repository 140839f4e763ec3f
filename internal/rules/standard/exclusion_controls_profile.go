package standard

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// excusableOfProfiles are the controls of what the kernel keeps from a process.
func excusableOfProfiles() []excusable {
	return []excusable{
		{
			name:    "Capabilities",
			aliases: []string{"Capabilities (v1.22+)"},
			container: []restrictedField{
				{
					name: "securityContext.capabilities.add", at: "securityContext.capabilities.add[*]",
					inContainer: addAllowed,
				},
				{
					name: "securityContext.capabilities.drop", isList: true,
					of: func(c *control) bool { return c.id == "capabilities_restricted" },
					inContainer: ofContainer(func(sc *corev1.SecurityContext) {
						if sc.Capabilities == nil {
							sc.Capabilities = &corev1.Capabilities{}
						}
						sc.Capabilities.Drop = append(sc.Capabilities.Drop, "ALL")
					}),
				},
			},
		},
		{
			name: "AppArmor",
			pod: []restrictedField{
				{
					name:  "spec." + appArmorField,
					inPod: ofPod(func(sc *corev1.PodSecurityContext) { sc.AppArmorProfile = nil }),
				},
				annotationField(corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "*"),
			},
			container: []restrictedField{{
				name:        appArmorField,
				inContainer: ofContainer(func(sc *corev1.SecurityContext) { sc.AppArmorProfile = nil }),
			}},
		},
		{
			name: "SELinux",
			pod: seLinuxFields("spec.", func(f *restrictedField, clear func(*corev1.SELinuxOptions)) {
				f.inPod = ofPod(func(sc *corev1.PodSecurityContext) { clear(sc.SELinuxOptions) })
			}),
			container: seLinuxFields("", func(f *restrictedField, clear func(*corev1.SELinuxOptions)) {
				f.inContainer = ofContainer(func(sc *corev1.SecurityContext) { clear(sc.SELinuxOptions) })
			}),
		},
		{
			name: "/proc Mount Type",
			container: []restrictedField{{
				name:        "securityContext.procMount",
				inContainer: ofContainer(func(sc *corev1.SecurityContext) { sc.ProcMount = nil }),
			}},
		},
		{
			name:    "Seccomp",
			aliases: []string{"Seccomp (v1.19+)"},
			pod: []restrictedField{
				{
					name: "spec." + seccompField, of: seccompByFields,
					// Without a profile, containers that have none are at fault
					// as they were before.
					inPod: ofPod(func(sc *corev1.PodSecurityContext) { sc.SeccompProfile = nil }),
				},
				seccompAnnotation(seccompPodKey),
				seccompAnnotation(seccompContainerKeyPrefix + "*"),
			},
			container: []restrictedField{{
				name: seccompField, of: seccompByFields,
				inContainer: ofContainer(func(sc *corev1.SecurityContext) {
					sc.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
				}),
			}},
		},
		{
			name: "Sysctls",
			pod:  []restrictedField{{name: "spec.securityContext.sysctls[*].name", inPod: setSafeSysctl}},
		},
	}
}

// annotationField is the field of annotations by a key, or by what it begins
// with before a *.
func annotationField(key string) restrictedField {
	return restrictedField{name: `metadata.annotations["` + key + `"]`, annotation: key}
}

// seccompByFields reports whether a revision of the check on seccomp profiles looks
// at fields; those before look at annotations.
func seccompByFields(c *control) bool { return c.since >= 19 }

// seccompAnnotation is the field of an annotation that names a seccomp profile.
func seccompAnnotation(key string) restrictedField {
	f := annotationField(key)
	f.of = func(c *control) bool { return !seccompByFields(c) }
	return f
}

// addAllowed puts the one capability that every level allows in place of
// another, so that the indexes of the rest stay.
func addAllowed(c *corev1.Container, index int) {
	ofContainer(func(sc *corev1.SecurityContext) {
		if sc.Capabilities != nil && index < len(sc.Capabilities.Add) {
			sc.Capabilities.Add[index] = restrictedCapabilities[0]
		}
	})(c, index)
}

// setSafeSysctl puts a sysctl that every version allows in place of another.
func setSafeSysctl(s *corev1.PodSpec, index int) {
	ofPod(func(sc *corev1.PodSecurityContext) {
		if index < len(sc.Sysctls) {
			sc.Sysctls = slices.Clone(sc.Sysctls)
			sc.Sysctls[index].Name = sysctlRevisions[0].names[0]
		}
	})(s, index)
}

// seLinuxFields are the options of a security context. with gives a field its
// way to clear one of them.
func seLinuxFields(prefix string, with func(f *restrictedField, clear func(*corev1.SELinuxOptions))) []restrictedField {
	options := []struct {
		name string
		of   func(*corev1.SELinuxOptions) *string
	}{
		{"type", func(o *corev1.SELinuxOptions) *string { return &o.Type }},
		{"user", func(o *corev1.SELinuxOptions) *string { return &o.User }},
		{"role", func(o *corev1.SELinuxOptions) *string { return &o.Role }},
	}
	var fields []restrictedField
	for _, option := range options {
		f := restrictedField{name: prefix + "securityContext.seLinuxOptions." + option.name}
		with(&f, func(o *corev1.SELinuxOptions) {
			if o != nil {
				*option.of(o) = ""
			}
		})
		fields = append(fields, f)
	}
	return fields
}
