package contract

import (
	"testing"
)

// TestAccessExemptions covers both forms of exempt namespaces, the selector
// terms and the labels, and what only looks like an exemption.
func TestAccessExemptions(t *testing.T) {
	t.Parallel()
	const labels = `{podLabels: {trusted: "yes", owner: platform}}`
	tests := []struct {
		name       string
		exemptions string
		namespace  string
		pod        []change
		decision   string
	}{
		{"plain list", "{namespaces: [kube-system, monitoring]}", "monitoring", nil, "allow"},
		{"patterns", "{namespaces: {patterns: [kube-system, monitoring]}}", "monitoring", nil, "allow"},
		{"wildcard in the plain list", `{namespaces: ["kube-*"]}`, "kube-public", nil, "allow"},
		{"wildcard in patterns", `{namespaces: {patterns: ["kube-*"]}}`, "kube-public", nil, "allow"},
		{"a name is the whole name", "{namespaces: [kube-system]}", "kube-system-2", nil, "deny"},
		{"a name is not a part", "{namespaces: [system]}", "kube-system", nil, "deny"},
		{"another namespace", "{namespaces: [kube-system]}", "shop", nil, "deny"},
		{"selector terms", "{namespaces: {selectorTerms: [{matchLabels: {tier: system}}]}}", "labelled", nil, "allow"},
		{"selector terms: one is enough", "{namespaces: {selectorTerms: [{matchLabels: {tier: none}}, {matchLabels: {tier: system}}]}}", "labelled", nil, "allow"},
		{"selector terms: expressions", "{namespaces: {selectorTerms: [{matchExpressions: [{key: tier, operator: In, values: [system, infra]}]}]}}", "labelled", nil, "allow"},
		{"selector terms that do not match", "{namespaces: {selectorTerms: [{matchLabels: {tier: system}}]}}", "shop", nil, "deny"},
		{"all labels", labels, "shop", []change{labelled("trusted", "yes", "owner", "platform", "more", "of-it")}, "allow"},
		{"one of two labels", labels, "shop", []change{labelled("trusted", "yes")}, "deny"},
		{"the labels with another value", labels, "shop", []change{labelled("trusted", "no", "owner", "platform")}, "deny"},
		{"the label in another case", `{podLabels: {trusted: "yes"}}`, "shop", []change{labelled("Trusted", "yes")}, "deny"},
		{"no labels", labels, "shop", nil, "deny"},
		{"either of namespace and labels", "{namespaces: [kube-system], podLabels: {trusted: \"yes\"}}", "shop", []change{labelled("trusted", "yes")}, "allow"},
	}
	namespaces := "apiVersion: v1\nkind: Namespace\nmetadata: {name: labelled, labels: {tier: system}}\n---\n" +
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
	for _, tt := range tests {
		for _, door := range doors {
			t.Run(tt.name+"/"+door, func(t *testing.T) {
				t.Parallel()
				dir := files(t, map[string]string{
					"policy.yaml":  denyPolicy("guard", "{blockFactors: [hostNetwork], exemptions: "+tt.exemptions+"}"),
					"objects.yaml": documents(t, namespaces, newPod(tt.namespace, "web", append(tt.pod, hostNetwork)...)),
				})
				access(t, dir, "exec", tt.namespace+"/web", "--door", door).expect(t, tt.decision)
			})
		}
	}
}

// TestAccessEmptyExemptions says that nothing exempts nobody: whether such a
// policy is refused or enforced, the pod is not entered.
func TestAccessEmptyExemptions(t *testing.T) {
	t.Parallel()
	for _, exemptions := range []string{"{}", "{podLabels: {}}", "{namespaces: []}", "{namespaces: {}}", "{namespaces: {patterns: []}}", "{namespaces: {selectorTerms: []}}"} {
		t.Run(exemptions, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{
				"policy.yaml": denyPolicy("guard", "{blockFactors: [hostNetwork], exemptions: "+exemptions+"}"),
				"pods.yaml":   documents(t, newPod("shop", "web", hostNetwork)),
			})
			if out := run(t, "access", "exec", "shop/web", "-p", dir); out.code == 0 {
				t.Errorf("exit status 0, want a denial or a refused policy\n%s", out.all())
			}
		})
	}
}
