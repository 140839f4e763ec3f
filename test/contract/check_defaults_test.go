package contract

import (
	"strings"
	"testing"
)

// TestCheckDefaults says that what is judged is what the API server would make of
// a file: nulls count as absent, and what was left out is filled in.
func TestCheckDefaults(t *testing.T) {
	t.Parallel()
	const (
		pod        = "{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {app: web}}, spec: {containers: [{name: c, image: nginx:1.27}]}}"
		deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: }
spec:
  replicas:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: [{name: a, image: registry.example/x, resources: {limits: {cpu: 0.5}}, securityContext: , ports: [{containerPort: 80}]}]
      volumes:
      hostNetwork:
`
		service = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: , ports: [{port: 80}]}}"
		custom  = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: web}, spec: {size: null, replicas: 1}}"
	)
	tests := []struct {
		name, kinds, validate, object string
		args                          []string
		want                          string
		// raw is the verdict of --no-defaults.
		raw string
	}{
		{"fields that are filled in", "Pod", "pattern: {spec: {dnsPolicy: ClusterFirst, containers: [{imagePullPolicy: IfNotPresent}]}}", pod, nil, "allow", "deny"},
		{"a condition on one", "Pod", "pattern: {spec: {(restartPolicy): Always, containers: [{name: x}]}}", pod, nil, "deny", "allow"},
		{"the pull policy of latest", "Pod", "pattern: {spec: {containers: [{imagePullPolicy: Always}]}}", deployment, nil, "allow", "deny"},
		{"volumes: with nothing, by a pattern", "Pod", "pattern: {spec: {=(volumes): [{X(hostPath): \"?*\"}]}}", deployment, nil, "allow", "deny"},
		{"volumes: with nothing, by CEL", "Pod", `cel: {expressions: [{expression: "!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.hostPath))"}]}`, deployment, nil, "allow", "error"},
		{"a boolean with nothing", "Pod", `cel: {expressions: [{expression: "!has(object.spec.hostNetwork) || !object.spec.hostNetwork"}]}`, deployment, nil, "allow", "error"},
		{"an object with nothing", "Pod", `cel: {expressions: [{expression: "object.spec.containers.all(c, !has(c.securityContext))"}]}`, deployment, nil, "allow", "deny"},
		{"a number with nothing", "Deployment", "pattern: {spec: {replicas: \">0\"}}", deployment, nil, "allow", "deny"},
		{"annotations with nothing", "Deployment", `cel: {expressions: [{expression: "!has(object.metadata.annotations) || !('a' in object.metadata.annotations)"}]}`, deployment, nil, "allow", "error"},
		{"a strategy", "Deployment", "pattern: {spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%}}}}", deployment, nil, "allow", "deny"},
		{"the namespace of the request", "Pod", "pattern: {metadata: {namespace: \"!default\"}}", pod, nil, "deny", "deny"},
		{"the namespace that is given", "Pod", "pattern: {metadata: {namespace: shop}}", pod, []string{"-n", "shop"}, "allow", "deny"},
		{"a service", "Service", "pattern: {spec: {type: ClusterIP, ports: [{protocol: TCP, targetPort: 80}]}}", service, nil, "allow", "deny"},
		{"a service with nothing", "Service", `cel: {expressions: [{expression: "!has(object.spec.selector)"}]}`, service, nil, "allow", "deny"},
		{"an object of a custom kind keeps its nulls", "Widget", `cel: {expressions: [{expression: "object.spec.size == null"}]}`, custom, nil, "allow", "allow"},
		{"an older version", "StatefulSet", "pattern: {spec: {updateStrategy: {rollingUpdate: {X(maxUnavailable): \"*\"}}}}",
			"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {serviceName: db, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: a:1}]}}}}",
			[]string{"--kubernetes-version", "1.36"}, "allow", "deny"},
		{"the newest version", "StatefulSet", "pattern: {spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 1}}}}",
			"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {serviceName: db, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: a:1}]}}}}",
			nil, "allow", "deny"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{
				"policy.yaml": `apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: filled-in}
spec:
  rules:
  - name: rule
    match: {any: [{resources: {kinds: [` + tt.kinds + `]}}]}
    validate: {message: refused, ` + tt.validate + `}
`,
				"object.yaml": tt.object,
			})
			files := []string{"check", "-p", dir + "/policy.yaml", dir + "/object.yaml"}
			judge(t, append(files, tt.args...)...).expect(t, tt.want)
			judge(t, append(files, "--no-defaults")...).expect(t, tt.raw)
		})
	}
}

// TestCheckDefaultsSaysWhatIsLeftOut warns of a rule that looks at what only the
// API server adds, where it judged a Pod.
func TestCheckDefaultsSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: nginx:1.27}]}}"
	const job = "{apiVersion: batch/v1, kind: Job, metadata: {name: web}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: nginx:1.27}]}}}}"
	tests := []struct {
		name, validate, object string
		args                   []string
		want                   []string
	}{
		{"tolerations", "pattern: {spec: {=(tolerations): [{key: \"a\"}]}}", pod, nil, []string{"tolerations (DefaultTolerationSeconds)", "--server"}},
		{"limits, once for many", "pattern: {spec: {containers: [{resources: {limits: {cpu: \"?*\"}}}]}}", pod + "\n---\n" + strings.Replace(pod, "web", "web2", 1), nil, []string{"limits (LimitRanger)"}},
		{"priority and volumes, by CEL", `cel: {expressions: [{expression: "!has(object.spec.volumes) && object.?spec.priority.orValue(0) == 0"}]}`, pod, nil, []string{"priority (Priority)", "volumes (ServiceAccount)"}},
		{"a template gets nothing added", "pattern: {spec: {=(tolerations): [{key: \"a\"}]}}", job, nil, nil},
		{"what is filled in is not left out", "pattern: {spec: {dnsPolicy: ClusterFirst}}", pod, nil, nil},
		{"nothing is filled in", "pattern: {spec: {=(tolerations): [{key: \"a\"}]}}", pod, []string{"--no-defaults"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{
				"policy.yaml": `apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: added}
spec:
  rules:
  - name: rule
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: refused, ` + tt.validate + `}
`,
				"object.yaml": tt.object,
			})
			out := run(t, append([]string{"check", "-p", dir + "/policy.yaml", dir + "/object.yaml"}, tt.args...)...)
			for _, want := range tt.want {
				wantContains(t, out.stderr, want)
			}
			warned := 0
			if len(tt.want) > 0 {
				warned = 1
			}
			if got := strings.Count(out.stderr, "looks at what admission plugins"); got != warned {
				t.Errorf("%d warnings: %s", got, out.stderr)
			}
		})
	}
}

// TestCheckDefaultsErrors words what cannot be asked for, and what cannot be read.
func TestCheckDefaultsErrors(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"policy.yaml": `{apiVersion: sallyport.io/v1alpha1, kind: ClusterPolicy, metadata: {name: a}, spec: {rules: [{name: rule, match: {any: [{resources: {kinds: [Deployment]}}]}, validate: {pattern: {spec: {paused: true}}}}]}}`,
		"object.yaml": `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: "3", paused: true, template: {spec: {containers: []}}}}`,
	})
	tests := []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"an unknown version", []string{"--kubernetes-version", "1.12"}, 2, []string{"--kubernetes-version", "1.12", "1.37"}},
		{"no version", []string{"--kubernetes-version", "newest"}, 2, []string{"newest", "is not a version"}},
		{"two of them", []string{"--no-defaults", "--kubernetes-version", "1.36"}, 2, []string{"exclude each other"}},
		{"server and none", []string{"--server", "--no-defaults"}, 2, []string{"exclude each other"}},
		{"a cluster that is not asked", []string{"--kubeconfig", "x"}, 2, []string{"--server is not given"}},
		{"a field that the API server cannot read", nil, 0, []string{"would refuse this Deployment", "spec.replicas", "judged as it is written"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := run(t, append([]string{"check", "-p", dir + "/policy.yaml", dir + "/object.yaml"}, tt.args...)...)
			if out.code != tt.code {
				t.Errorf("exit status %d", out.code)
			}
			for _, want := range tt.want {
				wantContains(t, out.stderr, want)
			}
		})
	}
}
