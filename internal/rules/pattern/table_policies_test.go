package pattern_test

import "testing"

// Policies as they are written for clusters: of pods first, of other kinds below.
func TestPodPolicies(t *testing.T) {
	run(t, []table{
		{"require an image tag", `{spec: {containers: [{image: "*:*"}]}}`, []check{
			{"a tag", `{spec: {containers: [{image: "nginx:1.27"}]}}`, pass},
			{"no tag", `{spec: {containers: [{image: nginx}]}}`, fail(at("spec.containers[0].image", "nginx"))},
		}},
		{"disallow the latest tag", `{spec: {template: {spec: {containers: [{image: "!*:latest"}]}}}}`, []check{
			{"a tag", `{spec: {template: {spec: {containers: [{image: "nginx:1.27"}]}}}}`, pass},
			{"no tag", `{spec: {template: {spec: {containers: [{image: nginx}]}}}}`, pass},
			{"latest with a digest", `{spec: {template: {spec: {containers: [{image: "nginx:latest@sha256:abc"}]}}}}`, pass},
			{"latest", `{spec: {template: {spec: {containers: [{image: "nginx:1"}, {image: "test:latest"}]}}}}`,
				fail(at("spec.template.spec.containers[1].image", "test:latest"))},
			{"no image", `{spec: {template: {spec: {containers: [{name: a}]}}}}`,
				fail(missing("spec.template.spec.containers[0].image"))},
			{"a pod instead of a workload", `{spec: {containers: [{image: "nginx:1"}]}}`, fail(missing("spec.template"))},
		}},
		{"require a digest", `{spec: {containers: [{image: "*@sha256:*"}]}}`, []check{
			{"a digest", `{spec: {containers: [{image: "r.io:5000/a:1@sha256:0a"}]}}`, pass},
			{"a tag", `{spec: {containers: [{image: "a:1"}]}}`, fail(at("spec.containers[0].image", "a:1"))},
		}},
		{"restrict registries", `{spec: {containers: [{image: "eu.corp.io/* | r.corp.io:5000/*"}], =(initContainers): [{image: "eu.corp.io/* | r.corp.io:5000/*"}], =(ephemeralContainers): [{image: "eu.corp.io/* | r.corp.io:5000/*"}]}}`, []check{
			{"from ours", `{spec: {containers: [{image: eu.corp.io/a}, {image: "r.corp.io:5000/b:1"}]}}`, pass},
			{"from another", `{spec: {containers: [{image: docker.io/a}]}}`, fail(at("spec.containers[0].image", "docker.io/a"))},
			{"from none", `{spec: {containers: [{image: nginx}]}}`, fail(at("spec.containers[0].image", "nginx"))},
			{"a name that only starts alike", `{spec: {containers: [{image: eu.corp.io.evil.io/a}]}}`,
				fail(at("spec.containers[0].image", "eu.corp.io.evil.io/a"))},
			{"hidden in an init container", `{spec: {containers: [{image: eu.corp.io/a}], initContainers: [{image: evil/a}]}}`,
				fail(at("spec.initContainers[0].image", "evil/a"))},
			{"hidden in an ephemeral container", `{spec: {containers: [{image: eu.corp.io/a}], initContainers: [], ephemeralContainers: [{image: evil/a}]}}`,
				fail(at("spec.ephemeralContainers[0].image", "evil/a"))},
		}},
		{"require requests and limits", `{spec: {containers: [{resources: {requests: {memory: "?*", cpu: "?*"}, limits: {memory: "?*"}}}]}}`, []check{
			{"all", `{spec: {containers: [{resources: {requests: {memory: 1Gi, cpu: 1}, limits: {memory: 1Gi}}}]}}`, pass},
			{"no cpu", `{spec: {containers: [{resources: {requests: {memory: 1Gi}, limits: {memory: 1Gi}}}]}}`,
				fail(missing("spec.containers[0].resources.requests.cpu"))},
			{"no limits", `{spec: {containers: [{resources: {requests: {memory: 1Gi, cpu: 100m}}}]}}`,
				fail(missing("spec.containers[0].resources.limits"))},
			{"no resources", `{spec: {containers: [{name: a}]}}`, fail(missing("spec.containers[0].resources"))},
			{"an empty quantity", `{spec: {containers: [{resources: {requests: {memory: "", cpu: 1}, limits: {memory: 1}}}]}}`,
				fail(at("spec.containers[0].resources.requests.memory", ""))},
		}},
		{"bound the memory", `{spec: {containers: [{resources: {limits: {memory: "<=2Gi"}}}]}}`, []check{
			{"less", `{spec: {containers: [{resources: {limits: {memory: 512Mi}}}]}}`, pass},
			{"more", `{spec: {containers: [{resources: {limits: {memory: 4Gi}}}]}}`,
				fail(at("spec.containers[0].resources.limits.memory", "4Gi"))},
			{"unbounded", `{spec: {containers: [{resources: {limits: {}}}]}}`,
				fail(missing("spec.containers[0].resources.limits.memory"))},
		}},
		{"require probes", `{spec: {containers: [{livenessProbe: {periodSeconds: ">0"}, readinessProbe: {periodSeconds: ">0"}}]}}`, []check{
			{"both", `{spec: {containers: [{livenessProbe: {periodSeconds: 10}, readinessProbe: {periodSeconds: 5}}]}}`, pass},
			{"one is missing", `{spec: {containers: [{livenessProbe: {periodSeconds: 10}}]}}`,
				fail(missing("spec.containers[0].readinessProbe"))},
			{"a period of zero", `{spec: {containers: [{livenessProbe: {periodSeconds: 0}, readinessProbe: {periodSeconds: 5}}]}}`,
				fail(at("spec.containers[0].livenessProbe.periodSeconds", int64(0)))},
		}},
		{"disallow host paths", `{spec: {=(volumes): [{X(hostPath): "null"}]}}`, []check{
			{"none", `{spec: {volumes: [{name: a, emptyDir: {}}]}}`, pass},
			{"one", `{spec: {volumes: [{name: a, emptyDir: {}}, {name: b, hostPath: {path: /etc}}]}}`,
				fail(at("spec.volumes[1].hostPath", map[string]any{"path": "/etc"}))},
		}},
		{"disallow the container runtime's socket", `{spec: {=(volumes): [{=(hostPath): {path: "!/var/run/docker.sock & !/run/containerd/*"}}]}}`, []check{
			{"another path", `{spec: {volumes: [{hostPath: {path: /data}}, {emptyDir: {}}]}}`, pass},
			{"docker's", `{spec: {volumes: [{hostPath: {path: /var/run/docker.sock}}]}}`,
				fail(at("spec.volumes[0].hostPath.path", "/var/run/docker.sock"))},
			{"containerd's", `{spec: {volumes: [{hostPath: {path: /run/containerd/containerd.sock}}]}}`,
				fail(at("spec.volumes[0].hostPath.path", "/run/containerd/containerd.sock"))},
		}},
		{"disallow host namespaces", `{spec: {=(hostPID): "false", =(hostIPC): "false", =(hostNetwork): "false"}}`, []check{
			{"not said", `{spec: {}}`, pass},
			{"said", `{spec: {hostPID: false, hostIPC: false, hostNetwork: false}}`, pass},
			{"two", `{spec: {hostPID: true, hostIPC: false, hostNetwork: true}}`,
				fail(at("spec.hostPID", true), at("spec.hostNetwork", true))},
		}},
		{"disallow host ports", `{spec: {containers: [{=(ports): [{=(hostPort): 0}]}]}}`, []check{
			{"no ports", `{spec: {containers: [{name: a}]}}`, pass},
			{"no host port", `{spec: {containers: [{ports: [{containerPort: 80}, {hostPort: 0}]}]}}`, pass},
			{"a host port", `{spec: {containers: [{ports: [{containerPort: 80}, {hostPort: 80}]}]}}`,
				fail(at("spec.containers[0].ports[1].hostPort", int64(80)))},
		}},
		{"restrict host ports to a range", `{spec: {containers: [{=(ports): [{=(hostPort): "5000-6000 | 0"}]}]}}`, []check{
			{"within", `{spec: {containers: [{ports: [{hostPort: 5000}, {hostPort: 0}, {hostPort: 6000}]}]}}`, pass},
			{"below and above", `{spec: {containers: [{ports: [{hostPort: 4999}, {hostPort: 6001}]}]}}`,
				fail(at("spec.containers[0].ports[0].hostPort", int64(4999)), at("spec.containers[0].ports[1].hostPort", int64(6001)))},
		}},
		{"disallow privileged containers", `{spec: {containers: [{=(securityContext): {=(privileged): "false"}}]}}`, []check{
			{"not said", `{spec: {containers: [{}, {securityContext: {}}]}}`, pass},
			{"said", `{spec: {containers: [{securityContext: {privileged: false}}]}}`, pass},
			{"privileged", `{spec: {containers: [{}, {securityContext: {privileged: true}}]}}`,
				fail(at("spec.containers[1].securityContext.privileged", true))},
		}},
		{"disallow privilege escalation", `{spec: {containers: [{securityContext: {allowPrivilegeEscalation: "false"}}]}}`, []check{
			{"said", `{spec: {containers: [{securityContext: {allowPrivilegeEscalation: false}}]}}`, pass},
			{"not said", `{spec: {containers: [{securityContext: {}}]}}`,
				fail(missing("spec.containers[0].securityContext.allowPrivilegeEscalation"))},
			{"no security context", `{spec: {containers: [{}]}}`, fail(missing("spec.containers[0].securityContext"))},
		}},
		{"drop all capabilities", `{spec: {containers: [{securityContext: {capabilities: {drop: ["ALL"], =(add): ["NET_BIND_SERVICE"]}}}]}}`, []check{
			{"dropped", `{spec: {containers: [{securityContext: {capabilities: {drop: [ALL]}}}]}}`, pass},
			{"dropped and one added", `{spec: {containers: [{securityContext: {capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}}]}}`, pass},
			{"in lower case", `{spec: {containers: [{securityContext: {capabilities: {drop: [all]}}}]}}`,
				fail(at("spec.containers[0].securityContext.capabilities.drop[0]", "all"))},
			{"not dropped", `{spec: {containers: [{securityContext: {capabilities: {}}}]}}`,
				fail(missing("spec.containers[0].securityContext.capabilities.drop"))},
			{"another added", `{spec: {containers: [{securityContext: {capabilities: {drop: [ALL], add: [NET_BIND_SERVICE, SYS_ADMIN]}}}]}}`,
				fail(at("spec.containers[0].securityContext.capabilities.add[1]", "SYS_ADMIN"))},
		}},
		{"require a read-only root file system", `{spec: {containers: [{securityContext: {readOnlyRootFilesystem: true}}]}}`, []check{
			{"read-only", `{spec: {containers: [{securityContext: {readOnlyRootFilesystem: true}}]}}`, pass},
			{"writable", `{spec: {containers: [{securityContext: {readOnlyRootFilesystem: false}}]}}`,
				fail(at("spec.containers[0].securityContext.readOnlyRootFilesystem", false))},
		}},
		{"restrict seccomp profiles", `{spec: {=(securityContext): {=(seccompProfile): {=(type): "RuntimeDefault | Localhost"}}}}`, []check{
			{"default", `{spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}}}`, pass},
			{"not said", `{spec: {securityContext: {}}}`, pass},
			{"unconfined", `{spec: {securityContext: {seccompProfile: {type: Unconfined}}}}`,
				fail(at("spec.securityContext.seccompProfile.type", "Unconfined"))},
		}},
		{"restrict users", `{spec: {=(securityContext): {=(runAsUser): ">0", =(supplementalGroups): "100-200 | 500-600"}}}`, []check{
			{"right", `{spec: {securityContext: {runAsUser: 1000, supplementalGroups: [100, 550]}}}`, pass},
			{"root", `{spec: {securityContext: {runAsUser: 0}}}`, fail(at("spec.securityContext.runAsUser", int64(0)))},
			{"a group between", `{spec: {securityContext: {supplementalGroups: [100, 300]}}}`,
				fail(at("spec.securityContext.supplementalGroups[1]", int64(300)))},
		}},
		{"restrict sysctls", `{spec: {=(securityContext): {=(sysctls): [{=(name): "kernel.shm_rmid_forced | net.ipv4.ping_group_range"}]}}}`, []check{
			{"a safe one", `{spec: {securityContext: {sysctls: [{name: net.ipv4.ping_group_range, value: "0 1"}]}}}`, pass},
			{"another", `{spec: {securityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}}}`,
				fail(at("spec.securityContext.sysctls[0].name", "kernel.msgmax"))},
		}},
		{"bound scratch volumes", `{spec: {=(volumes): [{(emptyDir): {}, emptyDir: {sizeLimit: "<=1Gi"}}]}}`, []check{
			{"bounded", `{spec: {volumes: [{emptyDir: {sizeLimit: 1Gi}}, {configMap: {}}]}}`, pass},
			{"too big", `{spec: {volumes: [{configMap: {}}, {emptyDir: {sizeLimit: 2Gi}}]}}`,
				fail(at("spec.volumes[1].emptyDir.sizeLimit", "2Gi"))},
			{"unbounded", `{spec: {volumes: [{emptyDir: {}}]}}`, fail(missing("spec.volumes[0].emptyDir.sizeLimit"))},
			{"no scratch volume", `{spec: {volumes: [{configMap: {}}]}}`, skip("emptyDir")},
		}},
		{"require a sidecar", `{spec: {^(containers): [{name: proxy, image: "corp.io/proxy:*"}]}}`, []check{
			{"there", `{spec: {containers: [{name: web, image: a}, {name: proxy, image: "corp.io/proxy:1"}]}}`, pass},
			{"a false one", `{spec: {containers: [{name: web, image: a}, {name: proxy, image: "evil/proxy:1"}]}}`, fail(somewhere("spec.containers"))},
		}},
	})
}

func TestOtherPolicies(t *testing.T) {
	run(t, []table{
		{"disallow the default namespace", `{metadata: {namespace: "!default"}}`, []check{
			{"another", `{metadata: {namespace: prod}}`, pass},
			{"default", `{metadata: {namespace: default}}`, fail(at("metadata.namespace", "default"))},
			{"none", `{metadata: {name: a}}`, fail(missing("metadata.namespace"))},
		}},
		{"disallow node ports", `{spec: {=(type): "!NodePort & !LoadBalancer"}}`, []check{
			{"cluster", `{spec: {type: ClusterIP}}`, pass},
			{"not said", `{spec: {}}`, pass},
			{"a node port", `{spec: {type: NodePort}}`, fail(at("spec.type", "NodePort"))},
			{"a load balancer", `{spec: {type: LoadBalancer}}`, fail(at("spec.type", "LoadBalancer"))},
		}},
		{"disallow external addresses", `{spec: {X(externalIPs): "null"}}`, []check{
			{"none", `{spec: {ports: []}}`, pass},
			{"one", `{spec: {externalIPs: [1.2.3.4]}}`, fail(at("spec.externalIPs", []any{"1.2.3.4"}))},
		}},
		{"require replicas of a class", `{metadata: {labels: {(tier): "gold | silver"}}, spec: {replicas: ">=2"}}`, []check{
			{"enough", `{metadata: {labels: {tier: gold}}, spec: {replicas: 2}}`, pass},
			{"too few", `{metadata: {labels: {tier: silver}}, spec: {replicas: 1}}`, fail(at("spec.replicas", int64(1)))},
			{"of another class", `{metadata: {labels: {tier: none}}, spec: {replicas: 3}}`, skip("metadata.labels.tier")},
		}},
		{"bound a certificate's life", `{spec: {=(duration): "<=2160h", =(renewBefore): "!0s"}}`, []check{
			{"short", `{spec: {duration: 720h30m, renewBefore: 24h}}`, pass},
			{"long", `{spec: {duration: 8760h}}`, fail(at("spec.duration", "8760h"))},
			{"renewed never", `{spec: {renewBefore: 0h}}`, fail(at("spec.renewBefore", "0h"))},
		}},
		{"require hosts of ours", `{spec: {=(rules): [{host: "*.corp.io & !*.dev.corp.io"}]}}`, []check{
			{"ours", `{spec: {rules: [{host: web.corp.io}]}}`, pass},
			{"of the developers", `{spec: {rules: [{host: web.corp.io}, {host: a.dev.corp.io}]}}`,
				fail(at("spec.rules[1].host", "a.dev.corp.io"))},
			{"any", `{spec: {rules: [{}]}}`, fail(missing("spec.rules[0].host"))},
		}},
		{"disallow tokens for the default account", `{(serviceAccountName): default, automountServiceAccountToken: false}`, []check{
			{"another account", `{serviceAccountName: web, automountServiceAccountToken: true}`, skip("serviceAccountName")},
			{"mounted", `{serviceAccountName: default, automountServiceAccountToken: true}`, fail(at("automountServiceAccountToken", true))},
			{"not said", `{serviceAccountName: default}`, fail(missing("automountServiceAccountToken"))},
		}},
		{"disallow wildcards in roles", `{rules: [{verbs: "!?", resources: "!?"}]}`, []check{
			{"named", `{rules: [{verbs: [get, list], resources: [pods]}]}`, pass},
			{"every verb", `{rules: [{verbs: [get, "*"], resources: [pods]}]}`, fail(at("rules[0].verbs[1]", "*"))},
		}},
	})
}
