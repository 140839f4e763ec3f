package standard

import "testing"

const addPath = "securityContext.capabilities.add"

func TestExcuseCapabilities(t *testing.T) {
	t.Parallel()
	const (
		dropped = `capabilities: {drop: [ALL]`
		two     = `{spec: {containers: [{name: a, image: net:1, securityContext: {` + dropped + `, add: [NET_ADMIN, SYS_ADMIN]}}}]}}`
		pair    = `{spec: {containers: [
			{name: a, image: net:1, securityContext: {` + dropped + `, add: [NET_ADMIN]}}},
			{name: b, image: web:1, securityContext: {` + dropped + `, add: [NET_ADMIN]}}}]}}`
		kinds = `{spec: {
			initContainers: [{name: i, image: net:1, securityContext: {` + dropped + `, add: [NET_ADMIN]}}}],
			containers: [{name: c, image: net:1, securityContext: {` + dropped + `, add: [NET_ADMIN]}}}],
			ephemeralContainers: [{name: e, image: net:1, securityContext: {` + dropped + `, add: [NET_ADMIN]}}}]}}`
		wrong  = `{spec: {containers: [{name: a, image: net:1, securityContext: {capabilities: {drop: [NET_RAW, CHOWN], add: [NET_ADMIN]}}}]}}`
		silent = `{spec: {containers: [{name: a, image: net:1}, {name: b, image: web:1}]}}`
	)
	testExcuse(t, []string{"Capabilities"}, []excuseTest{
		{name: "an image", pod: two, exclude: `[{controlName: Capabilities, images: ["net:1"]}]`, used: []int{0}},
		{name: "an image at baseline", level: "baseline", pod: two, exclude: `[{controlName: Capabilities, images: ["net:1"]}]`, used: []int{0}},
		{name: "the name with the page's version", pod: two, exclude: `[{controlName: Capabilities (v1.22+), images: ["net:*"]}]`, used: []int{0}},
		{
			name: "one value of two", pod: two,
			exclude: `[{controlName: Capabilities, images: ["net:*"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: [NET_ADMIN]}]`,
			left:    `unrestricted capabilities (container "a" must not include "SYS_ADMIN" in securityContext.capabilities.add)`,
			paths:   []string{"spec.containers[0]." + addPath + "[1]"}, used: []int{0},
		},
		{
			name: "one value of two at baseline", level: "baseline", pod: two,
			exclude: `[{controlName: Capabilities, images: ["net:*"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: [SYS_ADMIN]}]`,
			left:    `non-default capabilities (container "a" must not include "NET_ADMIN" in securityContext.capabilities.add)`,
			paths:   []string{"spec.containers[0]." + addPath + "[0]"}, used: []int{0},
		},
		{
			name: "two entries add up", pod: two, used: []int{0, 1},
			exclude: `[{controlName: Capabilities, images: ["net:*"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: [NET_ADMIN]},
				{controlName: Capabilities, images: ["net:*"], restrictedField: "spec.containers[*].securityContext.capabilities.add[*]", values: [SYS_*]}]`,
		},
		{
			name: "the image of one entry does not carry the value of another", pod: two,
			exclude: `[{controlName: Capabilities, images: ["net:*"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: [NET_ADMIN]},
				{controlName: Capabilities, images: ["other"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: [SYS_ADMIN]}]`,
			left:  `unrestricted capabilities (container "a" must not include "SYS_ADMIN" in securityContext.capabilities.add)`,
			paths: []string{"spec.containers[0]." + addPath + "[1]"}, used: []int{0},
		},
		{
			name: "every entry that covers is used", pod: two, used: []int{0, 2},
			exclude: `[{controlName: Capabilities, images: ["*"]}, {controlName: Capabilities, images: ["web:*"]}, {controlName: Capabilities, images: ["net:?"]}]`,
		},
		{
			name: "values count as they are written", pod: two,
			exclude: `[{controlName: Capabilities, images: ["net:*"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: [CAP_SYS_ADMIN, sys_admin, SYS_ADMI, YS_ADMIN]}]`,
			left:    `unrestricted capabilities (container "a" must not include "NET_ADMIN", "SYS_ADMIN" in securityContext.capabilities.add)`,
			paths:   []string{"spec.containers[0]." + addPath + "[0]", "spec.containers[0]." + addPath + "[1]"},
		},
		{
			name: "an image does not excuse another", pod: pair, exclude: `[{controlName: Capabilities, images: ["net:1"]}]`,
			left:  `unrestricted capabilities (container "b" must not include "NET_ADMIN" in securityContext.capabilities.add)`,
			paths: []string{"spec.containers[1]." + addPath + "[0]"}, used: []int{0},
		},
		{
			name: "an image is not a part of one", pod: two, exclude: `[{controlName: Capabilities, images: ["net", "et:1", "net:", "NET:1", "docker.io/net:1"]}]`,
			left:  `unrestricted capabilities (container "a" must not include "NET_ADMIN", "SYS_ADMIN" in securityContext.capabilities.add)`,
			paths: []string{"spec.containers[0]." + addPath + "[0]", "spec.containers[0]." + addPath + "[1]"},
		},
		{
			name:    "a pattern ends where it ends",
			pod:     `{spec: {containers: [{name: a, image: "evil.example/registry.example/agent:1", securityContext: {` + dropped + `, add: [NET_ADMIN]}}}]}}`,
			exclude: `[{controlName: Capabilities, images: ["registry.example/*"]}]`,
			left:    `unrestricted capabilities (container "a" must not include "NET_ADMIN" in securityContext.capabilities.add)`,
			paths:   []string{"spec.containers[0]." + addPath + "[0]"},
		},
		{name: "all kinds of containers by image", pod: kinds, exclude: `[{controlName: Capabilities, images: ["net:1"]}]`, used: []int{0}},
		{
			name: "a field of main containers only", pod: kinds,
			exclude: `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: ["*"]}]`,
			left:    `unrestricted capabilities (containers "i", "e" must not include "NET_ADMIN" in securityContext.capabilities.add)`,
			paths:   []string{"spec.initContainers[0]." + addPath + "[0]", "spec.ephemeralContainers[0]." + addPath + "[0]"}, used: []int{0},
		},
		{
			name: "only a field of init containers", pod: kinds,
			exclude: `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.initContainers[*].securityContext.capabilities.add", values: ["*"]}]`,
			left:    `unrestricted capabilities (containers "c", "e" must not include "NET_ADMIN" in securityContext.capabilities.add)`,
			paths:   []string{"spec.containers[0]." + addPath + "[0]", "spec.ephemeralContainers[0]." + addPath + "[0]"}, used: []int{0},
		},
		{
			name: "only a field of ephemeral containers", pod: kinds,
			exclude: `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.ephemeralContainers[*].securityContext.capabilities.add", values: ["*"]}]`,
			left:    `unrestricted capabilities (containers "i", "c" must not include "NET_ADMIN" in securityContext.capabilities.add)`,
			paths:   []string{"spec.initContainers[0]." + addPath + "[0]", "spec.containers[0]." + addPath + "[0]"}, used: []int{0},
		},
		{
			name: "what is added, not what is dropped", pod: wrong,
			exclude: `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: ["*"]}]`,
			left:    `unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"])`,
			paths:   []string{"spec.containers[0].securityContext.capabilities.drop"}, used: []int{0},
		},
		{
			name: "what is dropped, not what is added", pod: wrong,
			exclude: `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities.drop", values: [NET_RAW, CHOWN]}]`,
			left:    `unrestricted capabilities (container "a" must not include "NET_ADMIN" in securityContext.capabilities.add)`,
			paths:   []string{"spec.containers[0]." + addPath + "[0]"}, used: []int{0},
		},
		{
			name: "not everything that is dropped is named", pod: wrong,
			exclude: `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities.drop", values: [NET_RAW, ""]}]`,
			left:    `unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; container "a" must not include "NET_ADMIN" in securityContext.capabilities.add)`,
			paths:   []string{"spec.containers[0].securityContext.capabilities.drop", "spec.containers[0]." + addPath + "[0]"},
		},
		{
			name: "what is dropped as the finding shows it", pod: wrong, used: []int{0, 1},
			exclude: `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities.drop", values: ['["NET_RAW","CHOWN"]']},
				{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities.add", values: [NET_ADMIN]}]`,
		},
		{
			name: "nothing is dropped", pod: silent,
			exclude: `[{controlName: Capabilities, images: ["net:*"], restrictedField: "spec.containers[*].securityContext.capabilities.drop", values: [""]}]`,
			left:    `unrestricted capabilities (container "b" must set securityContext.capabilities.drop=["ALL"])`,
			paths:   []string{"spec.containers[1].securityContext.capabilities.drop"}, used: []int{0},
		},
		{
			name: "nothing is dropped, in the words of the page", pod: silent, used: []int{0},
			exclude: `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities.drop", values: [Undefined/nil]}]`,
		},
		{
			name: "nothing is dropped, and a value is named", pod: silent,
			exclude: `[{controlName: Capabilities, images: ["*"], restrictedField: "spec.containers[*].securityContext.capabilities.drop", values: [NET_RAW]}]`,
			left:    `unrestricted capabilities (containers "a", "b" must set securityContext.capabilities.drop=["ALL"])`,
			paths:   []string{"spec.containers[0].securityContext.capabilities.drop", "spec.containers[1].securityContext.capabilities.drop"},
		},
		{
			name: "another control", pod: two, exclude: `[{controlName: Privilege Escalation, images: ["*"]}]`,
			left:  `unrestricted capabilities (container "a" must not include "NET_ADMIN", "SYS_ADMIN" in securityContext.capabilities.add)`,
			paths: []string{"spec.containers[0]." + addPath + "[0]", "spec.containers[0]." + addPath + "[1]"},
		},
		{name: "no entries", pod: two, exclude: `[]`, left: `unrestricted capabilities (container "a" must not include "NET_ADMIN", "SYS_ADMIN" in securityContext.capabilities.add)`,
			paths: []string{"spec.containers[0]." + addPath + "[0]", "spec.containers[0]." + addPath + "[1]"}},
	})
}

func TestExcuseContainerControls(t *testing.T) {
	t.Parallel()
	const (
		privilegedPair = `{spec: {initContainers: [{name: i, image: init, securityContext: {privileged: true}}], containers: [{name: a, image: agent, securityContext: {privileged: true}}]}}`
		ports          = `{spec: {containers: [{name: a, image: agent, ports: [{containerPort: 1, hostPort: 80}, {containerPort: 2, hostPort: 8080}, {containerPort: 3}]}]}}`
		procs          = `{spec: {containers: [{name: a, image: agent, securityContext: {procMount: Unmasked}}, {name: b, image: web, securityContext: {procMount: Unmasked}}]}}`
		escalation     = `{spec: {containers: [{name: a, image: agent, securityContext: {allowPrivilegeEscalation: true}}, {name: b, image: agent}]}}`
		probes         = `{spec: {containers: [{name: a, image: agent, livenessProbe: {httpGet: {port: 1, host: 10.0.0.1}}, readinessProbe: {tcpSocket: {port: 1, host: 10.0.0.2}}, lifecycle: {preStop: {httpGet: {port: 1, host: 10.0.0.1}}, postStart: {tcpSocket: {port: 1, host: 10.0.0.3}}}}]}}`
	)
	testExcuse(t, []string{"Privileged Containers", "Host Ports", "/proc Mount Type", "Privilege Escalation", hostProbesName}, []excuseTest{
		{
			name: "privileged: an init container is one of its own", level: "baseline", pod: privilegedPair, exclude: `[{controlName: Privileged Containers, images: [agent]}]`,
			left:  `privileged (container "i" must not set securityContext.privileged=true)`,
			paths: []string{"spec.initContainers[0].securityContext.privileged"}, used: []int{0},
		},
		{
			name: "privileged: a field with its one value", level: "baseline", pod: privilegedPair,
			exclude: `[{controlName: Privileged Containers, images: ["*"], restrictedField: "spec.initContainers[*].securityContext.privileged", values: ["true"]}]`,
			left:    `privileged (container "a" must not set securityContext.privileged=true)`,
			paths:   []string{"spec.containers[0].securityContext.privileged"}, used: []int{0},
		},
		{
			name: "host ports: one of two", level: "baseline", pod: ports,
			exclude: `[{controlName: Host Ports, images: [agent], restrictedField: "spec.containers[*].ports[*].hostPort", values: ["80"]}]`,
			left:    `hostPort (container "a" uses hostPort 8080)`,
			paths:   []string{"spec.containers[0].ports[1].hostPort"}, used: []int{0},
		},
		{
			name: "host ports: a pattern", level: "baseline", pod: ports, used: []int{0},
			exclude: `[{controlName: Host Ports, images: [agent], restrictedField: "spec.containers[*].ports[*].hostPort", values: ["80*"]}]`,
		},
		{
			name: "proc mount at baseline", level: "baseline", pod: procs, exclude: `[{controlName: /proc Mount Type, images: [agent]}]`,
			left:  `procMount (container "b" must not set securityContext.procMount to "Unmasked")`,
			paths: []string{"spec.containers[1].securityContext.procMount"}, used: []int{0},
		},
		{
			name: "proc mount at both levels", pod: procs, used: []int{0},
			exclude: `[{controlName: /proc Mount Type, images: ["*"]}, {controlName: Host Ports, images: ["*"]}, {controlName: Privilege Escalation, images: [none]}]`,
			left:    `allowPrivilegeEscalation != false (containers "a", "b" must set securityContext.allowPrivilegeEscalation=false)`,
			paths:   []string{"spec.containers[0].securityContext.allowPrivilegeEscalation", "spec.containers[1].securityContext.allowPrivilegeEscalation"},
		},
		{
			name: "escalation: set, not missing", pod: escalation,
			exclude: `[{controlName: Privilege Escalation (v1.8+), images: [agent], restrictedField: "spec.containers[*].securityContext.allowPrivilegeEscalation", values: ["true"]}]`,
			left:    `allowPrivilegeEscalation != false (container "b" must set securityContext.allowPrivilegeEscalation=false)`,
			paths:   []string{"spec.containers[1].securityContext.allowPrivilegeEscalation"}, used: []int{0},
		},
		{
			name: "escalation: missing, not set", pod: escalation,
			exclude: `[{controlName: Privilege Escalation, images: [agent], restrictedField: "spec.containers[*].securityContext.allowPrivilegeEscalation", values: ["undefined/nil"]}]`,
			left:    `allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)`,
			paths:   []string{"spec.containers[0].securityContext.allowPrivilegeEscalation"}, used: []int{0},
		},
		{
			name: "escalation: any value, missing too", pod: escalation, used: []int{0},
			exclude: `[{controlName: Privilege Escalation, images: [agent], restrictedField: "spec.containers[*].securityContext.allowPrivilegeEscalation", values: ["*"]}]`,
		},
		{name: "probes: an image", level: "baseline", pod: probes, exclude: `[{controlName: Host Probes / Lifecycle Hooks, images: [agent]}]`, used: []int{0}},
		{name: "probes: by another name", level: "baseline", pod: probes, exclude: `[{controlName: Host Probes and Lifecycle Hooks, images: [agent]}]`, used: []int{0}},
		{
			name: "probes: the same host elsewhere", level: "baseline", pod: probes,
			exclude: `[{controlName: Host Probes / Lifecycle Hooks (v1.34+), images: [agent], restrictedField: "spec.containers[*].livenessProbe.httpGet.host", values: ["10.0.0.*"]},
				{controlName: Host Probes, images: [agent], restrictedField: "spec.containers[*].lifecycle.postStart.tcpSocket.host", values: ["10.0.0.3"]}]`,
			left:  `probe or lifecycle host (container "a" uses probe or lifecycle hosts "10.0.0.1", "10.0.0.2")`,
			paths: []string{"spec.containers[0].readinessProbe.tcpSocket.host", "spec.containers[0].lifecycle.preStop.httpGet.host"}, used: []int{0, 1},
		},
	})
}
