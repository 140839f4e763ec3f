package contract

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestAccessFactors weighs one factor at a time with 7 and reads the score.
func TestAccessFactors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		factor string
		name   string
		pod    []change
		score  string
	}{
		{"hostNetwork", "set", []change{hostNetwork}, "7"},
		{"hostNetwork", "not set", []change{hostPID, hostIPC}, "0"},
		{"hostPID", "set", []change{hostPID}, "7"},
		{"hostPID", "not set", []change{hostNetwork, hostIPC}, "0"},
		{"hostIPC", "set", []change{hostIPC}, "7"},
		{"hostIPC", "not set", []change{hostNetwork, hostPID}, "0"},

		{"privilegedContainer", "in a main container", []change{first(privileged)}, "7"},
		{"privilegedContainer", "in the second container", []change{sidecar(privileged)}, "7"},
		{"privilegedContainer", "in an init container", []change{initial(privileged)}, "7"},
		{"privilegedContainer", "in an ephemeral container", []change{ephemeral(privileged)}, "7"},
		{"privilegedContainer", "in all of them counts once", []change{first(privileged), sidecar(privileged), initial(privileged), ephemeral(privileged)}, "7"},
		{"privilegedContainer", "false", []change{first(func(s *securityContext) { s.Privileged = ptr(false) })}, "0"},

		{"runAsRoot", "container root over pod user", []change{podUser(1000), first(root)}, "7"},
		{"runAsRoot", "container user over pod root", []change{podUser(0)}, "0"},
		{"runAsRoot", "pod root where the container says nothing", []change{podUser(0), first(userUnset)}, "7"},
		{"runAsRoot", "pod root and no security context in the container", []change{podUser(0), noSecurityContext}, "7"},
		{"runAsRoot", "in an init container", []change{initial(root)}, "7"},
		{"runAsRoot", "in an ephemeral container", []change{ephemeral(root)}, "7"},
		{"runAsRoot", "counts once", []change{podUser(0), first(root), sidecar(root), initial(root)}, "7"},

		{"hostPort", "in a main container", []change{hostPort}, "7"},
		{"hostPort", "only a container port", []change{containerPort}, "0"},

		{"allowPrivilegeEscalation", "set", []change{first(func(s *securityContext) { s.AllowPrivilegeEscalation = ptr(true) })}, "7"},
		{"allowPrivilegeEscalation", "not set", []change{first(func(s *securityContext) { s.AllowPrivilegeEscalation = nil })}, "7"},
		{"allowPrivilegeEscalation", "no security context", []change{noSecurityContext}, "7"},
		{"allowPrivilegeEscalation", "false everywhere", nil, "0"},
		{"allowPrivilegeEscalation", "in an init container", []change{initial(func(s *securityContext) { s.AllowPrivilegeEscalation = nil })}, "7"},

		{"procMountUnmasked", "Unmasked", []change{first(func(s *securityContext) { s.ProcMount = ptr(corev1.UnmaskedProcMount) })}, "7"},
		{"procMountUnmasked", "Default", []change{first(func(s *securityContext) { s.ProcMount = ptr(corev1.DefaultProcMount) })}, "0"},

		{"seccompUnconfined", "in a container", []change{first(seccomp(corev1.SeccompProfileTypeUnconfined))}, "7"},
		{"seccompUnconfined", "pod unconfined, container confined", []change{podSeccomp(corev1.SeccompProfileTypeUnconfined)}, "0"},
		{"seccompUnconfined", "pod unconfined, container silent", []change{podSeccomp(corev1.SeccompProfileTypeUnconfined), noSecurityContext}, "7"},
		{"seccompUnconfined", "pod confined, container unconfined", []change{podSeccomp(corev1.SeccompProfileTypeRuntimeDefault), first(seccomp(corev1.SeccompProfileTypeUnconfined))}, "7"},

		{"appArmorUnconfined", "in a container", []change{first(appArmor(corev1.AppArmorProfileTypeUnconfined))}, "7"},
		{"appArmorUnconfined", "for the pod", []change{podAppArmor(corev1.AppArmorProfileTypeUnconfined)}, "7"},
		{"appArmorUnconfined", "container confined in an unconfined pod", []change{podAppArmor(corev1.AppArmorProfileTypeUnconfined), first(appArmor(corev1.AppArmorProfileTypeRuntimeDefault))}, "0"},
		{"appArmorUnconfined", "by annotation", []change{annotated("container.apparmor.security.beta.kubernetes.io/app", "unconfined")}, "7"},
		{"appArmorUnconfined", "not set", nil, "0"},

		{"unsafeSysctl", "kernel.msgmax", []change{sysctl("kernel.msgmax")}, "7"},
		{"unsafeSysctl", "kernel.shm_rmid_forced", []change{sysctl("kernel.shm_rmid_forced")}, "0"},

		{"windowsHostProcess", "for the pod", []change{podHostProcess}, "7"},
		{"windowsHostProcess", "in a container", []change{first(hostProcess(true))}, "7"},
		{"windowsHostProcess", "turned off in the only container", []change{podHostProcess, first(hostProcess(false))}, "0"},

		{"shareProcessNamespace", "true", []change{shareProcessNamespace}, "7"},
		{"shareProcessNamespace", "false", []change{func(p *corev1.Pod) { p.Spec.ShareProcessNamespace = ptr(false) }}, "0"},

		{"serviceAccountToken", "projected and mounted", []change{projectedToken}, "7"},
		{"serviceAccountToken", "not mounted", nil, "0"},
	}
	for _, tt := range tests {
		t.Run(tt.factor+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			wantScore(t, "{"+tt.factor+": 7}", newPod("shop", "web", tt.pod...), tt.score, tt.factor)
		})
	}
}

// wantScore judges a pod by risk factors and compares the score. A score above
// zero must name the factor it came from.
func wantScore(t *testing.T, riskFactors string, pod *corev1.Pod, score, factor string, objects ...any) {
	t.Helper()
	policy := denyPolicy("weighed", "{riskFactors: "+riskFactors+", thresholds: [{maxScore: 0, action: allow}, {maxScore: 1000, action: warn}]}")
	dir := files(t, map[string]string{"policy.yaml": policy, "objects.yaml": documents(t, append(objects, pod)...)})
	j := access(t, dir, "exec", pod.Namespace+"/"+pod.Name)
	r := j.only(t, "weighed")
	if r.score() != score {
		t.Errorf("score %s with factors %v, want %s", r.score(), r.Factors, score)
	}
	decision := "allow"
	if score != "0" {
		decision = "warn"
		if factor != "" && !slices.Contains(r.Factors, factor) {
			t.Errorf("factors %v do not name %s", r.Factors, factor)
		}
	}
	j.expect(t, decision)
}

func shareProcessNamespace(p *corev1.Pod) { p.Spec.ShareProcessNamespace = ptr(true) }

func noSecurityContext(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext = nil }

func userUnset(s *securityContext) { s.RunAsUser, s.RunAsNonRoot = nil, nil }

// podContext returns the pod's security context, made when there is none.
func podContext(p *corev1.Pod) *corev1.PodSecurityContext {
	if p.Spec.SecurityContext == nil {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	return p.Spec.SecurityContext
}

func podUser(id int64) change {
	return func(p *corev1.Pod) { podContext(p).RunAsUser = &id }
}

func hostPort(p *corev1.Pod) {
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
}

func containerPort(p *corev1.Pod) {
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}}
}

func seccomp(profile corev1.SeccompProfileType) func(*securityContext) {
	return func(s *securityContext) { s.SeccompProfile = &corev1.SeccompProfile{Type: profile} }
}

func podSeccomp(profile corev1.SeccompProfileType) change {
	return func(p *corev1.Pod) { podContext(p).SeccompProfile = &corev1.SeccompProfile{Type: profile} }
}

func appArmor(profile corev1.AppArmorProfileType) func(*securityContext) {
	return func(s *securityContext) { s.AppArmorProfile = &corev1.AppArmorProfile{Type: profile} }
}

func podAppArmor(profile corev1.AppArmorProfileType) change {
	return func(p *corev1.Pod) { podContext(p).AppArmorProfile = &corev1.AppArmorProfile{Type: profile} }
}

func annotated(key, value string) change {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} }
}

func sysctl(name string) change {
	return func(p *corev1.Pod) { podContext(p).Sysctls = []corev1.Sysctl{{Name: name, Value: "1"}} }
}

func hostProcess(on bool) func(*securityContext) {
	return func(s *securityContext) {
		s.WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: &on}
	}
}

func podHostProcess(p *corev1.Pod) {
	podContext(p).WindowsOptions = &corev1.WindowsSecurityContextOptions{HostProcess: ptr(true)}
}

func projectedToken(p *corev1.Pod) {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
			ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}}}}})
	mount(0, "token", true)(p)
}
