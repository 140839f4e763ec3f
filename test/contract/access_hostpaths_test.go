package contract

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestAccessHostPathCounting says that host paths count once a volume, and that
// one writable mount makes the volume a writable one.
func TestAccessHostPathCounting(t *testing.T) {
	t.Parallel()
	harmless := func(*securityContext) {}
	tests := []struct {
		name  string
		pod   []change
		score string
	}{
		{"none", nil, "0"},
		{"one read-only", []change{hostPath("a", "/srv/a", true)}, "3"},
		{"one writable", []change{hostPath("a", "/srv/a", false)}, "7"},
		{"two read-only", []change{hostPath("a", "/srv/a", true), hostPath("b", "/srv/b", true)}, "6"},
		{"two writable", []change{hostPath("a", "/srv/a", false), hostPath("b", "/srv/b", false)}, "14"},
		{"one of each", []change{hostPath("a", "/srv/a", false), hostPath("b", "/srv/b", true)}, "10"},
		{"one mounted twice", []change{hostPath("a", "/srv/a", false), mount(0, "a", false)}, "7"},
		{"one read-only here and writable there", []change{sidecar(harmless), hostPath("a", "/srv/a", true), mount(1, "a", false)}, "7"},
		{"one in two containers", []change{sidecar(harmless), hostPath("a", "/srv/a", true), mount(1, "a", true)}, "3"},
		{"one mounted only in an init container", []change{initial(harmless), initHostPath}, "7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantScore(t, "{hostPathWritable: 7, hostPathReadOnly: 3}", newPod("shop", "web", tt.pod...), tt.score, "")
		})
	}
}

// TestAccessHostPathPlaces tells the paths that give a node away from others.
func TestAccessHostPathPlaces(t *testing.T) {
	t.Parallel()
	tests := []struct{ factor, path, score string }{
		{"sensitiveHostPath", "/", "7"},
		{"sensitiveHostPath", "/etc", "7"},
		{"sensitiveHostPath", "/etc/", "7"},
		{"sensitiveHostPath", "//etc", "7"},
		{"sensitiveHostPath", "/proc", "7"},
		{"sensitiveHostPath", "/var/lib/kubelet", "7"},
		{"sensitiveHostPath", "/var/lib/kubelet/pods", "7"},
		{"sensitiveHostPath", "/var/lib", "7"},
		{"sensitiveHostPath", "/srv/data", "0"},
		{"sensitiveHostPath", "/etcetera", "0"},
		{"runtimeSocket", "/var/run/docker.sock", "7"},
		{"runtimeSocket", "/run/docker.sock", "7"},
		{"runtimeSocket", "/run/containerd/containerd.sock", "7"},
		{"runtimeSocket", "/run/containerd", "7"},
		{"runtimeSocket", "/var/run/crio/crio.sock", "7"},
		{"runtimeSocket", "/var//run/docker.sock/", "7"},
		{"runtimeSocket", "/var/run", "7"},
		{"runtimeSocket", "/", "7"},
		{"runtimeSocket", "/srv/data", "0"},
	}
	for _, tt := range tests {
		t.Run(tt.factor+" "+tt.path, func(t *testing.T) {
			t.Parallel()
			wantScore(t, "{"+tt.factor+": 7}", newPod("shop", "web", hostPath("v", tt.path, true)), tt.score, tt.factor)
		})
	}
}

// TestAccessPowerfulServiceAccount reads the RBAC objects given with the
// policies.
func TestAccessPowerfulServiceAccount(t *testing.T) {
	t.Parallel()
	role := func(rule string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: power}\nrules: [" + rule + "]\n"
	}
	bind := func(subject string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: power}\n" +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: power}\nsubjects: [" + subject + "]\n"
	}
	const (
		account = "{kind: ServiceAccount, name: runner, namespace: shop}"
		secrets = `{apiGroups: [""], resources: [secrets], verbs: [get]}`
	)
	tests := []struct {
		name, rule, subject, score string
	}{
		{"secrets", secrets, account, "7"},
		{"exec", `{apiGroups: [""], resources: [pods/exec], verbs: [create]}`, account, "7"},
		{"impersonation", `{apiGroups: [""], resources: [users], verbs: [impersonate]}`, account, "7"},
		{"escalation", `{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [escalate]}`, account, "7"},
		{"binding", `{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [bind]}`, account, "7"},
		{"nodes", `{apiGroups: [""], resources: [nodes/proxy], verbs: [get]}`, account, "7"},
		{"everything", `{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}`, account, "7"},
		{"through its group", secrets, "{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:serviceaccounts:shop'}", "7"},
		{"only config maps", `{apiGroups: [""], resources: [configmaps], verbs: [get]}`, account, "0"},
		{"another account", secrets, "{kind: ServiceAccount, name: runner, namespace: other}", "0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			runner := func(p *corev1.Pod) { p.Spec.ServiceAccountName = "runner" }
			wantScore(t, "{powerfulServiceAccount: 7}", newPod("shop", "web", runner, projectedToken), tt.score, "powerfulServiceAccount",
				role(tt.rule), bind(tt.subject))
		})
	}
}

// initHostPath mounts a host path in the first init container and nowhere else.
func initHostPath(p *corev1.Pod) {
	hostPath("a", "/srv/a", false)(p)
	p.Spec.InitContainers[0].VolumeMounts = p.Spec.Containers[0].VolumeMounts
	p.Spec.Containers[0].VolumeMounts = nil
}
