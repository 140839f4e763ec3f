package risk

import (
	"strings"
	"testing"
)

// Neighbours: one container is privileged, one adds a capability, one mounts the
// node's files and one claims a port; "app" does nothing of the kind.
const neighbours = `
spec:
  SHARED
  volumes:
  - {name: node, hostPath: {path: /etc}}
  - {name: idle, hostPath: {path: /data}}
  initContainers:
  - {name: setup, securityContext: {privileged: true}}
  containers:
  - {name: app}
  - {name: root, securityContext: {runAsUser: 0}}
  - {name: files, volumeMounts: [{name: node, mountPath: /etc, readOnly: true}]}
  - {name: port, ports: [{containerPort: 80, hostPort: 80}]}
  ephemeralContainers:
  - {name: debug, targetContainerName: root, securityContext: {capabilities: {add: [BPF]}}}
  - {name: debug2, targetContainerName: root}
  - {name: alone, securityContext: {procMount: Unmasked}}
`

func TestScopes(t *testing.T) {
	const (
		all       = "privilegedContainer, hostPathReadOnly, runAsRoot, capability:BPF, hostPort, procMountUnmasked, sensitiveHostPath"
		rootGroup = "runAsRoot, capability:BPF, hostPort"
	)
	for _, tc := range []struct{ name, scope, subresource, container, shared, want string }{
		{"pod", "pod", "exec", "app", "", all},
		{"pod is the default", "", "exec", "app", "", all},
		{"container that has nothing", "container", "exec", "app", "", "hostPort"},
		{"attach", "container", "attach", "app", "", "hostPort"},
		{"container that mounts", "container", "exec", "files", "", "hostPathReadOnly, hostPort, sensitiveHostPath"},
		{"init container", "container", "exec", "setup", "", "privilegedContainer, hostPort"},
		{"ephemeral container without a target", "container", "exec", "alone", "", "hostPort, procMountUnmasked"},
		{"target of ephemeral containers", "container", "exec", "root", "", rootGroup},
		{"ephemeral container with a target", "container", "exec", "debug", "", rootGroup},
		{"ephemeral container with the same target", "container", "exec", "debug2", "", rootGroup},
		{"container that is not known", "container", "exec", "", "", all},
		{"container that is not there", "container", "exec", "App", "", all},
		{"port-forward", "container", "portforward", "app", "", all},
		{"proxy", "container", "proxy", "app", "", all},
		{"log", "container", "log", "app", "", all},
		{"node", "container", "nodes/proxy", "app", "", all},
		{"shared processes", "container", "exec", "app", "shareProcessNamespace: true", all + " + shareProcessNamespace"},
		{"the node's processes", "container", "exec", "app", "hostPID: true", "hostPID, " + all},
		{"the node's network", "container", "exec", "app", "hostNetwork: true", "hostNetwork, hostPort"},
		{"debug container that is to come", "container", "ephemeralcontainers", "new", "", "privilegedContainer, hostPathWritable, runAsRoot, capability:BPF, hostPort, procMountUnmasked, sensitiveHostPath"},
		{"debug container that is not known", "pod", "ephemeralcontainers", "", "", "privilegedContainer, hostPathWritable, runAsRoot, capability:BPF, hostPort, procMountUnmasked, sensitiveHostPath"},
		{"debug container named like another", "container", "ephemeralcontainers", "app", "", "privilegedContainer, hostPathWritable, runAsRoot, capability:BPF, hostPort, procMountUnmasked, sensitiveHostPath"},
		{"debug container that is there", "container", "ephemeralcontainers", "alone", "", "hostPort, procMountUnmasked"},
		{"debug container that is there, whole pod", "pod", "ephemeralcontainers", "alone", "", all},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := "blockFactors: [hostNetwork, hostPID, hostIPC, privilegedContainer, hostPathWritable, hostPathReadOnly, runAsRoot, capabilities, hostPort, procMountUnmasked, shareProcessNamespace, sensitiveHostPath]\n"
			if tc.scope != "" {
				text += "scope: " + tc.scope
			}
			want := tc.want
			if strings.HasSuffix(want, " + shareProcessNamespace") {
				want = strings.Replace(strings.TrimSuffix(want, " + shareProcessNamespace"), "sensitiveHostPath", "shareProcessNamespace, sensitiveHostPath", 1)
			}
			p := readPod(t, strings.Replace(neighbours, "SHARED", tc.shared, 1))
			v := compile(t, text).Judge(Input{Pod: p, Container: tc.container, Subresource: tc.subresource})
			if got := strings.Join(v.Factors, ", "); got != want {
				t.Errorf("factors\n%s, want\n%s", got, want)
			}
		})
	}
}

// Names that the API server would refuse never make less of a pod count.
func TestScopeOfOddNames(t *testing.T) {
	const tail = `securityContext: {privileged: true}}`
	for _, tc := range []struct{ name, pod string }{
		{"two containers of one name", `{spec: {initContainers: [{name: app, ` + tail + `], containers: [{name: app}]}}`},
		{"a target that is not there", `{spec: {containers: [{name: x, ` + tail + `], ephemeralContainers: [{name: app, targetContainerName: gone}]}}`},
		{"a target that is ephemeral", `{spec: {containers: [{name: x, ` + tail + `], ephemeralContainers: [{name: app, targetContainerName: other}, {name: other, targetContainerName: x}]}}`},
		{"a target that is itself", `{spec: {containers: [{name: x, ` + tail + `], ephemeralContainers: [{name: app, targetContainerName: app}]}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rules := compile(t, `{scope: container, blockFactors: [privilegedContainer]}`)
			v := rules.Judge(Input{Pod: readPod(t, tc.pod), Container: "app", Subresource: "exec"})
			if len(v.Blocked) != 1 {
				t.Errorf("the privileged container does not count: %+v", v.Factors)
			}
		})
	}
}
