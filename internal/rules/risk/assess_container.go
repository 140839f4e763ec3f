package risk

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// unconfined is the value of the annotations that stood for profiles before the
// fields did, for seccomp and AppArmor alike.
const unconfined = corev1.SeccompProfileNameUnconfined

// anyUnconfined reports whether some annotation can take a profile away.
func anyUnconfined(annotations map[string]string) bool {
	for _, value := range annotations {
		if value == unconfined {
			return true
		}
	}
	return false
}

// assessContainer records the factors that stand in the container of place n.
func (a *Assessment) assessContainer(c pod.Container, n int32, from *inherited) {
	sc := c.SecurityContext
	if sc == nil {
		sc = &noSecurityContext
	}
	add := func(f Factor, o origin) {
		a.spots = append(a.spots, spot{factor: f, origin: o, container: n})
	}

	privileged := isTrue(sc.Privileged)
	if privileged {
		add(PrivilegedContainer, ownField)
	}
	switch {
	case isRoot(sc.RunAsUser):
		add(RunAsRoot, ownField)
	case sc.RunAsUser == nil && from.runAsRoot:
		add(RunAsRoot, podField)
	}
	sysAdmin := a.assessCapabilities(sc.Capabilities, n)
	for i := range c.Ports {
		switch port := &c.Ports[i]; {
		case port.HostPort != 0:
			a.spots = append(a.spots, spot{factor: HostPort, container: n, item: int32(i)})
		case from.hostNetwork && port.ContainerPort != 0:
			a.spots = append(a.spots, spot{factor: HostPort, origin: impliedByNetwork, container: n, item: int32(i)})
		}
	}
	switch escalates := sc.AllowPrivilegeEscalation; {
	case isTrue(escalates), escalates == nil && !from.windows:
		add(AllowPrivilegeEscalation, ownField)
	case privileged || sysAdmin:
		add(AllowPrivilegeEscalation, impliedByPrivilege)
	}
	if sc.ProcMount != nil && *sc.ProcMount == corev1.UnmaskedProcMount {
		add(ProcMountUnmasked, ownField)
	}
	if o, found := seccompOrigin(c, sc, from); found {
		add(SeccompUnconfined, o)
	}
	if o, found := appArmorOrigin(c, sc, from); found {
		add(AppArmorUnconfined, o)
	}
	switch own := sc.WindowsOptions; {
	case own != nil && own.HostProcess != nil:
		if *own.HostProcess {
			add(WindowsHostProcess, ownField)
		}
	case from.hostProcess:
		add(WindowsHostProcess, podField)
	}
}

// assessCapabilities records the capabilities that are added and reports whether
// SYS_ADMIN is among them.
func (a *Assessment) assessCapabilities(capabilities *corev1.Capabilities, n int32) (sysAdmin bool) {
	if capabilities == nil {
		return false
	}
	for i, name := range capabilities.Add {
		found := parseCapability(string(name))
		sysAdmin = sysAdmin || found == capSysAdmin || found == capAll
		a.spots = append(a.spots, spot{factor: Capabilities, capability: found, container: n, item: int32(i)})
	}
	return sysAdmin
}

// seccompOrigin says where it stands that the container has no seccomp profile.
// Kubelets that read annotations let the container's field go first, then its
// annotation, then the pod's field, then the pod's annotation; others pass over
// annotations. What either of them takes for Unconfined counts.
func seccompOrigin(c pod.Container, sc *corev1.SecurityContext, from *inherited) (origin, bool) {
	if sc.SeccompProfile != nil {
		return ownField, isUnconfinedSeccomp(sc.SeccompProfile)
	}
	if from.seccomp {
		return podField, true
	}
	if from.annotations == nil {
		return 0, false
	}
	if own, ok := from.annotations[corev1.SeccompContainerAnnotationKeyPrefix+c.Name]; ok {
		return ownAnnotation, own == unconfined
	}
	return podAnnotation, from.annotations[corev1.SeccompPodAnnotationKey] == unconfined
}

// appArmorOrigin says where it stands that the container has no AppArmor profile.
// The container's field goes first, then its annotation, then the pod's field.
func appArmorOrigin(c pod.Container, sc *corev1.SecurityContext, from *inherited) (origin, bool) {
	if sc.AppArmorProfile != nil {
		return ownField, isUnconfinedAppArmor(sc.AppArmorProfile)
	}
	if from.annotations != nil {
		if own, ok := from.annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name]; ok {
			return ownAnnotation, own == unconfined
		}
	}
	return podField, from.appArmor
}
