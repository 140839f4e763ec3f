package e2e

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckServer has check judge what the API server makes of a manifest.
func TestCheckServer(t *testing.T) {
	kubeconfig, err := shared.Kubeconfig(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.Apply(t.Context(), "{apiVersion: v1, kind: ConfigMap, metadata: {name: there, namespace: shop}, data: {a: b}}"); err != nil {
		t.Fatal(err)
	}
	const tolerated = `cel: {expressions: [{expression: "has(object.spec.tolerations) && object.spec.tolerations.exists(x, x.key == 'node.kubernetes.io/not-ready')"}]}`
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: new, namespace: shop}, spec: {volumes: null, containers: [{name: app, image: registry.example.com/web:1}]}}"
	tests := []struct {
		name, kind, validate, object string
		args                         []string
		code                         int
		says                         string
	}{
		{"what a plugin adds, left out", "Pod", tolerated, pod, nil, 1, "DefaultTolerationSeconds"},
		{"what a plugin adds", "Pod", tolerated, pod, []string{"--server"}, 0, ""},
		{"defaults", "Pod", "pattern: {spec: {dnsPolicy: ClusterFirst, containers: [{imagePullPolicy: IfNotPresent}]}}", pod, []string{"--server"}, 0, ""},
		{"an object that is there", "ConfigMap", "pattern: {data: {a: c}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: there, namespace: shop}, data: {a: c}}", []string{"--server"}, 0, ""},
		{"an object that is there cannot become this", "Pod", tolerated, strings.Replace(pod, "name: new", "name: web", 1), []string{"--server"}, 2, "the API server does not take it"},
		{"an object that is not valid", "Deployment", "pattern: {spec: {replicas: 1}}", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop}, spec: {template: {spec: {containers: []}}}}", []string{"--server"}, 2, "spec.selector"},
		{"the namespace that is given", "ConfigMap", "pattern: {metadata: {namespace: shop}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", []string{"--server", "-n", "shop"}, 0, ""},
		{"a namespace that is not there", "ConfigMap", "pattern: {metadata: {namespace: nowhere}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", []string{"--server", "-n", "nowhere"}, 2, `"nowhere" not found`},
		{"a kind that is not there", "Widget", "pattern: {spec: {a: 1}}", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {a: 1}}", []string{"--server"}, 2, "no matches for kind"},
		{"a kind without namespaces", "Namespace", "pattern: {metadata: {labels: {kubernetes.io/metadata.name: fresh}}}", "{apiVersion: v1, kind: Namespace, metadata: {name: fresh}}", []string{"--server"}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "policy.yaml"), "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: server}\nspec:\n  rules:\n"+
				"  - {name: rule, match: {any: [{resources: {kinds: ["+tt.kind+"]}}]}, validate: {message: refused, "+tt.validate+"}}\n")
			write(t, filepath.Join(dir, "object.yaml"), tt.object)
			args := append([]string{"check", "-p", filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "object.yaml")}, tt.args...)
			if len(tt.args) > 0 {
				args = append(args, "--kubeconfig", kubeconfig)
			}
			out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
			code := 0
			var status *exec.ExitError
			if errors.As(err, &status) {
				code = status.ExitCode()
			}
			if code != tt.code || !strings.Contains(string(out), tt.says) {
				t.Errorf("exit status %d, want %d and %q:\n%s", code, tt.code, tt.says, out)
			}
			if r := shared.Kubectl(t.Context(), root, "get", "pod", "new", "-n", "shop"); r.OK() {
				t.Error("a dry run has made the pod")
			}
		})
	}
}
