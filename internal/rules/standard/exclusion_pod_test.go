package standard

import "testing"

func TestExcusePodControls(t *testing.T) {
	t.Parallel()
	const (
		namespaces = `{spec: {hostNetwork: true, hostPID: true, hostIPC: true, containers: [{name: a, image: a}]}}`
		sysctls    = `{spec: {securityContext: {sysctls: [{name: kernel.msgmax}, {name: net.core.somaxconn}, {name: net.ipv4.tcp_syncookies}]}, containers: [{name: a, image: a}]}}`
		paths      = `{spec: {containers: [{name: a, image: a}], volumes: [{name: logs, hostPath: {path: /var/log}}, {name: tmp, emptyDir: {}}, {name: root, hostPath: {path: /}}]}}`
		sneaky     = `{spec: {containers: [{name: a, image: a}], volumes: [{name: x, hostPath: {path: /var/log/../../etc}}]}}`
	)
	testExcuse(t, []string{"Host Namespaces", "HostPath Volumes", "Sysctls"}, []excuseTest{
		{name: "namespaces", level: "baseline", pod: namespaces, exclude: `[{controlName: Host Namespaces}]`, used: []int{0}},
		{
			name: "one namespace", level: "baseline", pod: namespaces, exclude: `[{controlName: Host Namespaces, restrictedField: spec.hostPID, values: ["true"]}]`,
			left: `host namespaces (hostNetwork=true, hostIPC=true)`, paths: []string{"spec.hostNetwork", "spec.hostIPC"}, used: []int{0},
		},
		{
			name: "two namespaces at restricted", pod: namespaces, used: []int{0, 1},
			exclude: `[{controlName: Host Namespaces, restrictedField: spec.hostNetwork, values: ["true"]}, {controlName: Host Namespaces, restrictedField: spec.hostIPC, values: ["t*"]}]`,
			left:    `host namespaces (hostPID=true)`, paths: []string{"spec.hostPID"},
		},
		{
			name: "one sysctl", level: "baseline", pod: sysctls,
			exclude: `[{controlName: Sysctls, restrictedField: "spec.securityContext.sysctls[*].name", values: [kernel.*]}]`,
			left:    `forbidden sysctls (net.core.somaxconn)`, paths: []string{"spec.securityContext.sysctls[1].name"}, used: []int{0},
		},
		{name: "sysctls", level: "baseline", pod: sysctls, exclude: `[{controlName: Sysctls}]`, used: []int{0}},
		{
			name: "a sysctl that a later version allows", level: "baseline", version: "v1.26",
			pod:     `{spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_rmem}, {name: net.ipv4.tcp_wmem}]}, containers: [{name: a, image: a}]}}`,
			exclude: `[{controlName: Sysctls, restrictedField: "spec.securityContext.sysctls[*].name", values: [net.ipv4.tcp_rmem]}]`,
			left:    `forbidden sysctls (net.ipv4.tcp_wmem)`, paths: []string{"spec.securityContext.sysctls[1].name"}, used: []int{0},
		},
		{name: "host paths", level: "baseline", pod: paths, exclude: `[{controlName: HostPath Volumes}]`, used: []int{0}},
		{
			name: "one host path", level: "baseline", pod: paths, exclude: `[{controlName: HostPath Volumes, restrictedField: "spec.volumes[*].hostPath", values: [/var/log]}]`,
			left: `hostPath volumes (volume "root")`, paths: []string{"spec.volumes[2].hostPath.path"}, used: []int{0},
		},
		{
			name: "a host path by the path of the finding", level: "baseline", pod: paths, exclude: `[{controlName: HostPath Volumes, restrictedField: "spec.volumes[*].hostPath.path", values: [/]}]`,
			left: `hostPath volumes (volume "logs")`, paths: []string{"spec.volumes[0].hostPath.path"}, used: []int{0},
		},
		{
			name: "a host path is not what it begins with", level: "baseline", pod: paths, exclude: `[{controlName: HostPath Volumes, restrictedField: "spec.volumes[*].hostPath", values: [/var, /var/lo, /var/log/, "/var/log/*"]}]`,
			left: `hostPath volumes (volumes "logs", "root")`, paths: []string{"spec.volumes[0].hostPath.path", "spec.volumes[2].hostPath.path"},
		},
		{
			name: "a pattern does not follow a path up", level: "baseline", pod: sneaky, exclude: `[{controlName: HostPath Volumes, restrictedField: "spec.volumes[*].hostPath", values: ["/var/log/*", "*"]}]`,
			left: `hostPath volumes (volume "x")`, paths: []string{"spec.volumes[0].hostPath.path"},
		},
		{
			name: "a path that goes up, written out", level: "baseline", pod: sneaky, used: []int{0},
			exclude: `[{controlName: HostPath Volumes, restrictedField: "spec.volumes[*].hostPath", values: [/var/log/../../etc]}]`,
		},
	})
}

func TestExcuseVolumeTypes(t *testing.T) {
	t.Parallel()
	const (
		nfs   = `{name: share, nfs: {server: nfs.example, path: /}}`
		log   = `{name: logs, hostPath: {path: /var/log}}`
		mixed = `{spec: {containers: [{name: a, image: a}], volumes: [` + nfs + `, ` + log + `, {name: ceph, cephfs: {monitors: [m]}}]}}`
		files = `{spec: {containers: [{name: a, image: a}], volumes: [` + log + `, {name: root, hostPath: {path: /}}]}}`
		empty = `{spec: {containers: [{name: a, image: a}], volumes: [{name: none}, ` + nfs + `]}}`
		both  = `{spec: {containers: [{name: a, image: a}], volumes: [{name: two, nfs: {server: nfs.example, path: /}, hostPath: {path: /var/log}}]}}`
	)
	testExcuse(t, []string{"Volume Types"}, []excuseTest{
		{
			name: "types by their fields", pod: mixed, used: []int{0, 1},
			exclude: `[{controlName: Volume Types, restrictedField: "spec.volumes[*].nfs", values: ["*"]}, {controlName: Volume Types, restrictedField: "spec.volumes[*].cephfs", values: ["*"]}]`,
			left:    `restricted volume types (volume "logs" uses restricted volume type "hostPath")`, paths: []string{"spec.volumes[1].hostPath.path"},
		},
		{
			name: "types by their names", pod: mixed, used: []int{0},
			exclude: `[{controlName: Volume Types, restrictedField: "spec.volumes[*]", values: [nfs, rbd]}]`,
			left:    `restricted volume types (volumes "logs", "ceph" use restricted volume types "cephfs", "hostPath")`,
			paths:   []string{"spec.volumes[1].hostPath.path", "spec.volumes[2].cephfs"},
		},
		{
			name: "a type by its value", pod: mixed, used: []int{0},
			exclude: `[{controlName: Volume Types, restrictedField: "spec.volumes[*].nfs", values: ['{"server":"nfs.example","path":"/"}']}, {controlName: Volume Types, restrictedField: "spec.volumes[*].cephfs", values: ['{"monitors":["other"*']}]`,
			left:    `restricted volume types (volumes "logs", "ceph" use restricted volume types "cephfs", "hostPath")`,
			paths:   []string{"spec.volumes[1].hostPath.path", "spec.volumes[2].cephfs"},
		},
		{
			name: "a host path is one of the other control as well", pod: mixed, used: []int{0},
			exclude: `[{controlName: Volume Types}]`,
			left:    `hostPath volumes (volume "logs")`, paths: []string{"spec.volumes[1].hostPath.path"},
		},
		{
			name: "only a host path of this control", pod: files, used: []int{0},
			exclude: `[{controlName: Volume Types, restrictedField: "spec.volumes[*].hostPath", values: [/var/log]}]`,
			left:    `hostPath volumes (volume "logs"), restricted volume types (volume "root" uses restricted volume type "hostPath")`,
			paths:   []string{"spec.volumes[0].hostPath.path", "spec.volumes[1].hostPath.path"},
		},
		{
			name: "only a host path of the other control", pod: files, used: []int{0},
			exclude: `[{controlName: HostPath Volumes}]`,
			left:    `restricted volume types (volumes "logs", "root" use restricted volume type "hostPath")`,
			paths:   []string{"spec.volumes[0].hostPath.path", "spec.volumes[1].hostPath.path"},
		},
		{name: "host paths of both controls", pod: files, exclude: `[{controlName: Volume Types}, {controlName: HostPath Volumes}]`, used: []int{0, 1}},
		{
			name: "host paths of both controls, one path of one", pod: files, used: []int{0, 1},
			exclude: `[{controlName: Volume Types, restrictedField: "spec.volumes[*]", values: [hostPath]}, {controlName: HostPath Volumes, restrictedField: "spec.volumes[*].hostPath", values: [/var/*]}]`,
			left:    `hostPath volumes (volume "root")`, paths: []string{"spec.volumes[1].hostPath.path"},
		},
		{
			name: "a volume of no type", pod: empty, used: []int{0},
			exclude: `[{controlName: Volume Types, restrictedField: "spec.volumes[*]", values: [""]}]`,
			left:    `restricted volume types (volume "share" uses restricted volume type "nfs")`, paths: []string{"spec.volumes[1].nfs"},
		},
		{name: "every volume", pod: empty, exclude: `[{controlName: Volume Types, restrictedField: "spec.volumes[*]", values: ["*"]}]`, used: []int{0}},
		{
			name: "one of two types of a volume", pod: both, used: []int{0},
			exclude: `[{controlName: Volume Types, restrictedField: "spec.volumes[*].nfs", values: ["*"]}]`,
			left:    `restricted volume types (volume "two" uses restricted volume type "hostPath")`, paths: []string{"spec.volumes[0].hostPath.path"},
		},
		{
			name: "the other of two types of a volume", pod: both, used: []int{0, 1},
			exclude: `[{controlName: Volume Types, restrictedField: "spec.volumes[*].hostPath", values: ["*"]}, {controlName: HostPath Volumes}]`,
			left:    `restricted volume types (volume "two" uses restricted volume type "nfs")`, paths: []string{"spec.volumes[0].nfs"},
		},
	})
}
