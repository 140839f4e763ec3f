package contract

import (
	"fmt"
	"strings"
	"testing"
)

// namespaceWith returns a Namespace with pod-security labels by mode.
func namespaceWith(name string, labels map[string]string) map[string]any {
	prefixed := map[string]any{}
	for mode, value := range labels {
		prefixed["pod-security.kubernetes.io/"+mode] = value
	}
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": prefixed}}
}

// TestCheckNamespaceLevel reads the level from the labels of the namespace.
func TestCheckNamespaceLevel(t *testing.T) {
	t.Parallel()
	type labels = map[string]string
	tests := []struct {
		name        string
		labels      labels
		podSecurity string
		pod         change
		user        string
		decision    string
		message     string
	}{
		{"enforce", labels{"enforce": "baseline"}, "{level: namespace}", hostPID, "", "deny", `violates PodSecurity "baseline:latest"`},
		{"enforce with a version", labels{"enforce": "baseline", "enforce-version": "v1.30"}, "{level: namespace}", hostPID, "", "deny", `violates PodSecurity "baseline:v1.30"`},
		{"enforce restricted", labels{"enforce": "restricted"}, "{level: namespace}", first(func(s *securityContext) { s.AllowPrivilegeEscalation = nil }), "", "deny", `violates PodSecurity "restricted:latest"`},
		{"enforce passes", labels{"enforce": "restricted"}, "{level: namespace}", func(*corePod) {}, "", "allow", ""},
		{"enforce privileged", labels{"enforce": "privileged"}, "{level: namespace}", hostPID, "", "allow", ""},
		{"warn", labels{"warn": "baseline"}, "{level: namespace}", hostPID, "", "warn", `would violate PodSecurity "baseline:latest"`},
		{"audit", labels{"audit": "baseline"}, "{level: namespace}", hostPID, "", "allow", ""},
		{"enforce baseline, warn restricted", labels{"enforce": "baseline", "warn": "restricted"}, "{level: namespace}", first(func(s *securityContext) { s.AllowPrivilegeEscalation = nil }), "", "warn", `"restricted:latest"`},
		{"no labels", nil, "{level: namespace}", hostPID, "", "allow", ""},
		{"no labels, a default", nil, "{level: namespace, defaults: {enforce: baseline}}", hostPID, "", "deny", `"baseline:latest"`},
		{"a label takes precedence over the default", labels{"enforce": "privileged"}, "{level: namespace, defaults: {enforce: baseline}}", hostPID, "", "allow", ""},
		{"an exempt namespace", labels{"enforce": "baseline"}, "{level: namespace, exemptions: {namespaces: [shop]}}", hostPID, "", "allow", ""},
		{"another namespace exempt", labels{"enforce": "baseline"}, "{level: namespace, exemptions: {namespaces: [other]}}", hostPID, "", "deny", ""},
		{"an exempt user", labels{"enforce": "baseline"}, "{level: namespace, exemptions: {usernames: [root-user]}}", hostPID, "root-user", "allow", ""},
		{"another user", labels{"enforce": "baseline"}, "{level: namespace, exemptions: {usernames: [root-user]}}", hostPID, "alice", "deny", ""},
		{"an exempt runtime class", labels{"enforce": "baseline"}, "{level: namespace, exemptions: {runtimeClasses: [kata]}}", func(p *corePod) { hostPID(p); p.Spec.RuntimeClassName = ptr("kata") }, "", "allow", ""},
		{"no runtime class", labels{"enforce": "baseline"}, "{level: namespace, exemptions: {runtimeClasses: [kata]}}", hostPID, "", "deny", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{
				"p/policy.yaml": documents(t, podSecurityPolicy("by-namespace", "Enforce", tt.podSecurity), namespaceWith("shop", tt.labels)),
				"pod.yaml":      documents(t, newPod("shop", "web", tt.pod)),
			})
			args := []string{"check", "-p", dir + "/p", dir + "/pod.yaml"}
			if tt.user != "" {
				args = append(args, "--as", tt.user)
			}
			j := judge(t, args...)
			j.expect(t, tt.decision)
			wantContains(t, j.messages(), tt.message)
		})
	}
}

// TestCheckMatchNamespaces says which namespaces a rule is about.
func TestCheckMatchNamespaces(t *testing.T) {
	t.Parallel()
	tests := []struct{ namespaces, namespace, decision string }{
		{"[shop]", "shop", "deny"},
		{"[shop]", "shop-2", "allow"},
		{`["shop-*"]`, "shop-2", "deny"},
		{`["sho?"]`, "shop", "deny"},
		{`["*"]`, "anything", "deny"},
		{"[other, shop]", "shop", "deny"},
	}
	for _, tt := range tests {
		t.Run(tt.namespaces+" "+tt.namespace, func(t *testing.T) {
			t.Parallel()
			rule := fmt.Sprintf("- name: r\n  match: {any: [{resources: {kinds: [Pod], namespaces: %s}}]}\n  validate: {podSecurity: {level: baseline}}", tt.namespaces)
			dir := files(t, map[string]string{
				"policy.yaml": clusterPolicy("matched", "Enforce", rule),
				"pod.yaml":    documents(t, newPod(tt.namespace, "web", hostPID)),
			})
			judge(t, "check", "-p", dir+"/policy.yaml", dir+"/pod.yaml").expect(t, tt.decision)
		})
	}
}

// TestCheckNamespacedPolicy says that a Policy is about its own namespace.
func TestCheckNamespacedPolicy(t *testing.T) {
	t.Parallel()
	policy := strings.NewReplacer("kind: ClusterPolicy", "kind: Policy", "name: own\nspec", "name: own\n  namespace: shop\nspec").Replace(
		podSecurityPolicy("own", "Enforce", "{level: baseline}"))
	for namespace, decision := range map[string]string{"shop": "deny", "other": "allow"} {
		dir := files(t, map[string]string{"policy.yaml": policy, "pod.yaml": documents(t, newPod(namespace, "web", hostPID))})
		judge(t, "check", "-p", dir+"/policy.yaml", dir+"/pod.yaml").expect(t, decision)
	}
}
