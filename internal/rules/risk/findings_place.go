package risk

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// place says where a spot is, what stands there and what is wrong with it.
func (e *explainer) place(s *spot) (path, value, what string) {
	if s.container == none {
		return e.podPlace(s)
	}
	c := e.containers[s.container]
	name := "container " + strconv.Quote(clean(c.Name))
	own := func(field string) string { return e.pod.ContainerPath(c, "securityContext."+field) }
	inherited := func(field string) string { return e.pod.FieldPath("spec.securityContext." + field) }

	switch s.factor {
	case PrivilegedContainer:
		return own("privileged"), "true", name + " is privileged"
	case RunAsRoot:
		if s.origin == podField {
			return inherited("runAsUser"), "0", "containers that set no user run as root"
		}
		return own("runAsUser"), "0", name + " runs as root"
	case HostPort:
		port := &c.Ports[s.item]
		path = "ports[" + strconv.Itoa(int(s.item)) + "]."
		if s.origin == impliedByNetwork {
			return e.pod.ContainerPath(c, path+"containerPort"), strconv.Itoa(int(port.ContainerPort)), name + " has a port of the node, whose network it is in"
		}
		return e.pod.ContainerPath(c, path+"hostPort"), strconv.Itoa(int(port.HostPort)), name + " has a port of the node"
	case AllowPrivilegeEscalation:
		path = own("allowPrivilegeEscalation")
		set := c.SecurityContext != nil && c.SecurityContext.AllowPrivilegeEscalation != nil
		if set {
			value = strconv.FormatBool(*c.SecurityContext.AllowPrivilegeEscalation)
		}
		switch {
		case s.origin == impliedByPrivilege:
			return path, value, name + " can gain privileges whatever this says"
		case !set:
			return path, value, name + " does not set it to false"
		}
		return path, value, name + " can gain privileges"
	case ProcMountUnmasked:
		return own("procMount"), string(corev1.UnmaskedProcMount), name + " sees /proc unmasked"
	case SeccompUnconfined:
		what = "no seccomp profile holds " + name
		switch s.origin {
		case podField:
			return inherited("seccompProfile.type"), string(corev1.SeccompProfileTypeUnconfined), "no seccomp profile holds containers that set none"
		case podAnnotation:
			return e.annotation(corev1.SeccompPodAnnotationKey), unconfined, "no seccomp profile holds containers that set none"
		case ownAnnotation:
			return e.annotation(corev1.SeccompContainerAnnotationKeyPrefix + c.Name), unconfined, what
		}
		return own("seccompProfile.type"), string(corev1.SeccompProfileTypeUnconfined), what
	case AppArmorUnconfined:
		what = "no AppArmor profile holds " + name
		switch s.origin {
		case podField:
			return inherited("appArmorProfile.type"), string(corev1.AppArmorProfileTypeUnconfined), "no AppArmor profile holds containers that set none"
		case ownAnnotation:
			return e.annotation(corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name), unconfined, what
		}
		return own("appArmorProfile.type"), string(corev1.AppArmorProfileTypeUnconfined), what
	case WindowsHostProcess:
		if s.origin == podField {
			return inherited("windowsOptions.hostProcess"), "true", "containers are processes of the node"
		}
		return own("windowsOptions.hostProcess"), "true", name + " is a process of the node"
	}
	return e.pod.ContainerPath(c, ""), "", name
}

func (e *explainer) podPlace(s *spot) (path, value, what string) {
	field := func(name string) string { return e.pod.FieldPath("spec." + name) }
	switch s.factor {
	case HostNetwork:
		return field("hostNetwork"), "true", "the pod is in the node's network"
	case HostPID:
		return field("hostPID"), "true", "the pod sees the node's processes"
	case HostIPC:
		return field("hostIPC"), "true", "the pod shares the node's IPC"
	case ShareProcessNamespace:
		return field("shareProcessNamespace"), "true", "containers see one another's processes"
	case UnsafeSysctl:
		return field("securityContext.sysctls[" + strconv.Itoa(int(s.item)) + "].name"),
			e.pod.Spec.SecurityContext.Sysctls[s.item].Name, "is not among the safe sysctls"
	case ServiceAccountToken:
		path = field("automountServiceAccountToken")
		if e.pod.Spec.AutomountServiceAccountToken == nil {
			return path, "", "a token is mounted unless it is false"
		}
		return path, "true", "a token is mounted"
	}
	return field(""), "", s.factor.String()
}

// annotation is the path of an annotation of the pod.
func (e *explainer) annotation(key string) string {
	return e.pod.FieldPath("metadata.annotations[" + key + "]")
}

// tokenIndex finds the first token among the sources of a projected volume.
func tokenIndex(p *corev1.ProjectedVolumeSource) int {
	for i := range p.Sources {
		if p.Sources[i].ServiceAccountToken != nil {
			return i
		}
	}
	return 0
}
