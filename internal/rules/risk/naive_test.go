package risk

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/rules/standard"
)

// fuzzRules weigh every factor, each differently, so that a sum tells which were
// found. Writable weighs more than read-only.
const fuzzRules = `
riskFactors:
  hostNetwork: 1
  hostPID: 2
  hostIPC: 3
  privilegedContainer: 5
  hostPathWritable: 97
  hostPathReadOnly: 89
  runAsRoot: 7
  capabilities: {SYS_ADMIN: 11, CAP_NET_ADMIN: 13, all: 17}
  hostPort: 19
  allowPrivilegeEscalation: 23
  procMountUnmasked: 29
  seccompUnconfined: 31
  appArmorUnconfined: 37
  unsafeSysctl: 41
  windowsHostProcess: 43
  shareProcessNamespace: 47
  runtimeSocket: 53
  sensitiveHostPath: 59
  serviceAccountToken: 61
thresholds: [{maxScore: 50, action: allow}, {maxScore: 100, action: warn}]
`

// naiveScore is the score of a live pod under fuzzRules, found factor by factor
// with no regard to what it costs.
func naiveScore(p *corev1.Pod) int {
	var all []corev1.Container
	all = append(all, p.Spec.Containers...)
	all = append(all, p.Spec.InitContainers...)
	for _, e := range p.Spec.EphemeralContainers {
		all = append(all, corev1.Container(e.EphemeralContainerCommon))
	}
	ps := corev1.PodSecurityContext{}
	if p.Spec.SecurityContext != nil {
		ps = *p.Spec.SecurityContext
	}
	any := func(holds func(corev1.Container, corev1.SecurityContext) bool) bool {
		return slices.ContainsFunc(all, func(c corev1.Container) bool {
			if c.SecurityContext == nil {
				return holds(c, corev1.SecurityContext{})
			}
			return holds(c, *c.SecurityContext)
		})
	}
	adds := map[string]bool{}
	escalating := func(s corev1.SecurityContext) bool {
		found := s.Privileged != nil && *s.Privileged
		if s.Capabilities != nil {
			for _, added := range s.Capabilities.Add {
				name := naiveCapability(string(added))
				adds[name] = true
				found = found || name == "SYS_ADMIN" || name == "ALL"
			}
		}
		return found
	}
	windows := p.Spec.OS != nil && p.Spec.OS.Name == "windows"

	score := 0
	count := func(weight int, found bool) {
		if found {
			score += weight
		}
	}
	count(1, p.Spec.HostNetwork)
	count(2, p.Spec.HostPID)
	count(3, p.Spec.HostIPC)
	count(5, any(func(_ corev1.Container, s corev1.SecurityContext) bool { return s.Privileged != nil && *s.Privileged }))
	count(7, any(func(_ corev1.Container, s corev1.SecurityContext) bool {
		user := s.RunAsUser
		if user == nil {
			user = ps.RunAsUser
		}
		return user != nil && *user == 0
	}))
	count(19, any(func(c corev1.Container, _ corev1.SecurityContext) bool {
		return slices.ContainsFunc(c.Ports, func(port corev1.ContainerPort) bool {
			return port.HostPort != 0 || p.Spec.HostNetwork && port.ContainerPort != 0
		})
	}))
	escalates := false
	for _, c := range all { // each of them, because escalating collects what they add
		s := corev1.SecurityContext{}
		if c.SecurityContext != nil {
			s = *c.SecurityContext
		}
		implied := escalating(s)
		escalates = escalates || implied || s.AllowPrivilegeEscalation == nil && !windows || s.AllowPrivilegeEscalation != nil && *s.AllowPrivilegeEscalation
	}
	count(23, escalates)
	count(11, adds["SYS_ADMIN"] || adds["ALL"])
	count(13, adds["NET_ADMIN"] || adds["ALL"])
	count(17, adds["ALL"])
	count(29, any(func(_ corev1.Container, s corev1.SecurityContext) bool {
		return s.ProcMount != nil && *s.ProcMount == "Unmasked"
	}))
	count(31, any(func(c corev1.Container, s corev1.SecurityContext) bool { return naiveSeccomp(p, c, s, ps) }))
	count(37, any(func(c corev1.Container, s corev1.SecurityContext) bool { return naiveAppArmor(p, c, s, ps) }))
	count(41, slices.ContainsFunc(ps.Sysctls, func(s corev1.Sysctl) bool { return !standard.SafeSysctl(s.Name) }))
	count(43, any(func(_ corev1.Container, s corev1.SecurityContext) bool {
		for _, options := range []*corev1.WindowsSecurityContextOptions{s.WindowsOptions, ps.WindowsOptions} {
			if options != nil && options.HostProcess != nil {
				return *options.HostProcess
			}
		}
		return false
	}))
	count(47, p.Spec.ShareProcessNamespace != nil && *p.Spec.ShareProcessNamespace)
	return score + naiveVolumes(p, all)
}

func naiveCapability(name string) string {
	name = strings.ToUpper(strings.ToLower(name))
	if name != "CAP_" {
		name = strings.TrimPrefix(name, "CAP_")
	}
	return name
}

func naiveSeccomp(p *corev1.Pod, c corev1.Container, s corev1.SecurityContext, ps corev1.PodSecurityContext) bool {
	own, given := p.Annotations["container.seccomp.security.alpha.kubernetes.io/"+c.Name]
	switch {
	case s.SeccompProfile != nil:
		return s.SeccompProfile.Type == "Unconfined"
	case ps.SeccompProfile != nil && ps.SeccompProfile.Type == "Unconfined":
		return true
	case given:
		return own == "unconfined"
	}
	return p.Annotations["seccomp.security.alpha.kubernetes.io/pod"] == "unconfined"
}

func naiveAppArmor(p *corev1.Pod, c corev1.Container, s corev1.SecurityContext, ps corev1.PodSecurityContext) bool {
	own, given := p.Annotations["container.apparmor.security.beta.kubernetes.io/"+c.Name]
	switch {
	case s.AppArmorProfile != nil:
		return s.AppArmorProfile.Type == "Unconfined"
	case given:
		return own == "unconfined"
	}
	return ps.AppArmorProfile != nil && ps.AppArmorProfile.Type == "Unconfined"
}

func naiveVolumes(p *corev1.Pod, all []corev1.Container) int {
	score, found := 0, map[int]bool{}
	for _, v := range p.Spec.Volumes {
		mounted, writable, tokenPath := false, false, false
		for _, c := range all {
			for _, m := range c.VolumeMounts {
				if m.Name != v.Name {
					continue
				}
				mounted = true
				writable = writable || !m.ReadOnly || m.MountPropagation != nil && *m.MountPropagation == "Bidirectional"
				tokenPath = tokenPath || isTokenPath(m.MountPath)
			}
		}
		switch {
		case !mounted:
		case v.HostPath != nil:
			traits := traitsOf(v.HostPath.Path)
			if writable {
				score += 97
			} else {
				score += 89
			}
			found[53] = found[53] || traits.socket
			found[59] = found[59] || traits.sensitive || writable && traits.sensitiveWritable
		case v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil }):
			found[61] = true
		case v.Secret != nil && tokenPath:
			found[61] = true
		}
	}
	for weight := range maps.Keys(found) {
		if found[weight] {
			score += weight
		}
	}
	return score
}
