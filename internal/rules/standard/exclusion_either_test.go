package standard

import "testing"

func TestExcuseProfiles(t *testing.T) {
	t.Parallel()
	const (
		windows  = `{spec: {securityContext: {windowsOptions: {hostProcess: true}}, containers: [{name: a, image: agent, securityContext: {windowsOptions: {hostProcess: true}}}, {name: b, image: web, securityContext: {windowsOptions: {hostProcess: true}}}]}}`
		seccomp  = `{spec: {securityContext: {seccompProfile: {type: Unconfined}}, containers: [{name: a, image: agent, securityContext: {seccompProfile: {type: Unconfined}}}, {name: b, image: web}]}}`
		selinux  = `{spec: {securityContext: {seLinuxOptions: {type: spc_t, user: u}}, containers: [{name: a, image: agent, securityContext: {seLinuxOptions: {type: spc_t, role: r}}}]}}`
		apparmor = `{metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: unconfined, container.apparmor.security.beta.kubernetes.io/b: other}}, spec: {securityContext: {appArmorProfile: {type: Unconfined}}, containers: [{name: a, image: agent, securityContext: {appArmorProfile: {type: Unconfined}}}]}}`
		old      = `{metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: unconfined, container.seccomp.security.alpha.kubernetes.io/a: unconfined}}, spec: {containers: [{name: a, image: agent}]}}`
	)
	testExcuse(t, []string{"HostProcess", "Seccomp", "SELinux", "AppArmor"}, []excuseTest{
		{
			name: "host process of the pod", level: "baseline", pod: windows, exclude: `[{controlName: HostProcess}]`, used: []int{0},
			left:  `hostProcess (containers "a", "b" must not set securityContext.windowsOptions.hostProcess=true)`,
			paths: []string{"spec.containers[0]." + hostProcessField, "spec.containers[1]." + hostProcessField},
		},
		{
			name: "host process of a container", level: "baseline", pod: windows, exclude: `[{controlName: HostProcess, images: [agent]}]`, used: []int{0},
			left:  `hostProcess (pod and container "b" must not set securityContext.windowsOptions.hostProcess=true)`,
			paths: []string{"spec." + hostProcessField, "spec.containers[1]." + hostProcessField},
		},
		{
			name: "host process of every container", level: "baseline", pod: windows, exclude: `[{controlName: HostProcess, images: ["*"]}]`, used: []int{0},
			left: `hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)`, paths: []string{"spec." + hostProcessField},
		},
		{name: "host process of pod and containers", level: "baseline", pod: windows, exclude: `[{controlName: HostProcess}, {controlName: HostProcess, images: ["*"]}]`, used: []int{0, 1}},
		{
			name: "seccomp of the pod at baseline", level: "baseline", pod: seccomp, exclude: `[{controlName: Seccomp}]`, used: []int{0},
			left: `seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined")`, paths: []string{"spec.containers[0]." + seccompField},
		},
		{
			name: "seccomp of the pod does not excuse containers without", pod: seccomp, used: []int{0, 1},
			exclude: `[{controlName: Seccomp}, {controlName: Seccomp, images: [agent]}]`,
			left:    `seccompProfile (pod or container "b" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`, paths: []string{"spec.containers[1]." + seccompField},
		},
		{
			name: "seccomp of a container", pod: seccomp, exclude: `[{controlName: Seccomp (v1.19+), images: [web]}]`, used: []int{0},
			left:  `seccompProfile (pod and container "a" must not set securityContext.seccompProfile.type to "Unconfined")`,
			paths: []string{"spec." + seccompField, "spec.containers[0]." + seccompField},
		},
		{
			name: "only seccomp not set", pod: seccomp, used: []int{0},
			exclude: `[{controlName: Seccomp, images: ["*"], restrictedField: "spec.containers[*].securityContext.seccompProfile.type", values: [""]}]`,
			left:    `seccompProfile (pod and container "a" must not set securityContext.seccompProfile.type to "Unconfined")`,
			paths:   []string{"spec." + seccompField, "spec.containers[0]." + seccompField},
		},
		{
			name: "seccomp annotation of the pod", level: "baseline", version: "v1.18", pod: old, used: []int{0},
			exclude: `[{controlName: Seccomp, restrictedField: "metadata.annotations['seccomp.security.alpha.kubernetes.io/pod']", values: [unconfined]}]`,
			left:    `seccompProfile (forbidden annotation container.seccomp.security.alpha.kubernetes.io/a="unconfined")`,
			paths:   []string{"metadata.annotations[container.seccomp.security.alpha.kubernetes.io/a]"},
		},
		{
			name: "seccomp annotations stand on the pod", level: "baseline", version: "v1.18", pod: old, exclude: `[{controlName: Seccomp, images: ["*"]}]`,
			left:  `seccompProfile (forbidden annotations container.seccomp.security.alpha.kubernetes.io/a="unconfined", seccomp.security.alpha.kubernetes.io/pod="unconfined")`,
			paths: []string{"metadata.annotations[container.seccomp.security.alpha.kubernetes.io/a]", "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]"},
		},
		{
			name: "one option of selinux", level: "baseline", pod: selinux, used: []int{0},
			exclude: `[{controlName: SELinux, restrictedField: spec.securityContext.seLinuxOptions.type, values: [spc_t]}]`,
			left:    `seLinuxOptions (pod and container "a" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)`,
			paths:   []string{"spec.securityContext.seLinuxOptions.user", "spec.containers[0].securityContext.seLinuxOptions.type", "spec.containers[0].securityContext.seLinuxOptions.role"},
		},
		{
			name: "selinux of the pod", level: "baseline", pod: selinux, exclude: `[{controlName: SELinux}]`, used: []int{0},
			left:  `seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: type "spc_t"; role may not be set)`,
			paths: []string{"spec.containers[0].securityContext.seLinuxOptions.type", "spec.containers[0].securityContext.seLinuxOptions.role"},
		},
		{
			name: "a role of selinux in a container", level: "baseline", pod: selinux, used: []int{0, 1},
			exclude: `[{controlName: SELinux, images: [agent], restrictedField: "spec.containers[*].securityContext.seLinuxOptions.role", values: [r]}, {controlName: SELinux}]`,
			left:    `seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: type "spc_t")`,
			paths:   []string{"spec.containers[0].securityContext.seLinuxOptions.type"},
		},
		{
			name: "apparmor of a container", level: "baseline", pod: apparmor, exclude: `[{controlName: AppArmor, images: [agent]}]`, used: []int{0},
			left:  `forbidden AppArmor profiles (pod and annotations must not set AppArmor profile type to "Unconfined", "container.apparmor.security.beta.kubernetes.io/a="unconfined"", "container.apparmor.security.beta.kubernetes.io/b="other"")`,
			paths: []string{"spec." + appArmorField, "metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]", "metadata.annotations[container.apparmor.security.beta.kubernetes.io/b]"},
		},
		{
			name: "apparmor annotations by value", level: "baseline", pod: apparmor, used: []int{0},
			exclude: `[{controlName: AppArmor, restrictedField: 'metadata.annotations["container.apparmor.security.beta.kubernetes.io/*"]', values: [unconfined]}]`,
			left:    `forbidden AppArmor profiles (pod and container "a" and annotation must not set AppArmor profile type to "Unconfined", "container.apparmor.security.beta.kubernetes.io/b="other"")`,
			paths:   []string{"spec." + appArmorField, "metadata.annotations[container.apparmor.security.beta.kubernetes.io/b]", "spec.containers[0]." + appArmorField},
		},
		{
			name: "apparmor of the pod with its annotations", level: "baseline", pod: apparmor, exclude: `[{controlName: AppArmor}]`, used: []int{0},
			left: `forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")`, paths: []string{"spec.containers[0]." + appArmorField},
		},
	})
}

func TestExcuseUsers(t *testing.T) {
	t.Parallel()
	const (
		nonRoot  = `{spec: {securityContext: {runAsNonRoot: false}, containers: [{name: a, image: agent, securityContext: {runAsNonRoot: false}}, {name: b, image: web}], ephemeralContainers: [{name: e, image: debug}]}}`
		rootUser = `{spec: {securityContext: {runAsNonRoot: true, runAsUser: 0}, initContainers: [{name: i, image: init, securityContext: {runAsUser: 0}}], containers: [{name: a, image: agent, securityContext: {runAsUser: 0}}]}}`
		field    = `spec.containers[*].securityContext.runAsNonRoot`
	)
	testExcuse(t, []string{"Running as Non-root", "Running as Non-root user"}, []excuseTest{
		{
			name: "non-root of the pod", pod: nonRoot, exclude: `[{controlName: Running as Non-root}]`, used: []int{0},
			left:  `runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)`,
			paths: []string{"spec.containers[0]." + nonRootField, "spec.containers[1]." + nonRootField, "spec.ephemeralContainers[0]." + nonRootField},
		},
		{
			name: "non-root of pod and an image", pod: nonRoot, exclude: `[{controlName: Running as Non-root}, {controlName: Running as Non-root, images: [agent]}]`, used: []int{0, 1},
			left:  `runAsNonRoot != true (pod or containers "b", "e" must set securityContext.runAsNonRoot=true)`,
			paths: []string{"spec.containers[1]." + nonRootField, "spec.ephemeralContainers[0]." + nonRootField},
		},
		{
			name: "non-root of every image", pod: nonRoot, exclude: `[{controlName: Running as Non-root, images: ["*"]}]`, used: []int{0},
			left: `runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)`, paths: []string{"spec." + nonRootField},
		},
		{
			name: "non-root not set", pod: nonRoot, exclude: `[{controlName: Running as Non-root, images: ["*"], restrictedField: "` + field + `", values: [undefined/null]}]`, used: []int{0},
			left:  `runAsNonRoot != true (pod and container "a" must not set securityContext.runAsNonRoot=false)`,
			paths: []string{"spec." + nonRootField, "spec.containers[0]." + nonRootField, "spec.ephemeralContainers[0]." + nonRootField},
		},
		{
			name: "the user of the pod", pod: rootUser, exclude: `[{controlName: Running as Non-root user}]`, used: []int{0},
			left:  `runAsUser=0 (containers "i", "a" must not set runAsUser=0)`,
			paths: []string{"spec.initContainers[0].securityContext.runAsUser", "spec.containers[0].securityContext.runAsUser"},
		},
		{
			name: "the user of init containers", pod: rootUser, used: []int{0},
			exclude: `[{controlName: Running as Non-root user (v1.23+), images: ["*"], restrictedField: "spec.initContainers[*].securityContext.runAsUser", values: ["0"]}]`,
			left:    `runAsUser=0 (pod and container "a" must not set runAsUser=0)`,
			paths:   []string{"spec.securityContext.runAsUser", "spec.containers[0].securityContext.runAsUser"},
		},
		{
			name: "one control of users is not the other", pod: rootUser, exclude: `[{controlName: Running as Non-root}, {controlName: Running as Non-root, images: ["*"]}]`,
			left:  `runAsUser=0 (pod and containers "i", "a" must not set runAsUser=0)`,
			paths: []string{"spec.securityContext.runAsUser", "spec.initContainers[0].securityContext.runAsUser", "spec.containers[0].securityContext.runAsUser"},
		},
	})
}
