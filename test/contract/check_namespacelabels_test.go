package contract

import (
	"fmt"
	"strings"
	"testing"
)

// TestLabelsOfNamespacesInFiles judges Namespace manifests, and recorded reviews of
// them, by the policies that their labels lead out of.
func TestLabelsOfNamespacesInFiles(t *testing.T) {
	t.Parallel()
	const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: exempt}
rules: [{apiGroups: [sallyport.io], resources: [clusterpolicies], resourceNames: [by-namespace], verbs: [exempt]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: exempt}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: exempt}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
`
	dir := files(t, map[string]string{
		"p/policy.yaml":   podSecurityPolicy("by-namespace", "Enforce", "{level: namespace, defaults: {enforce: baseline}}"),
		"p/rights.yaml":   rights,
		"restricted.yaml": documents(t, namespaceWith("shop", map[string]string{"enforce": "restricted"})),
		"privileged.yaml": documents(t, namespaceWith("shop", map[string]string{"enforce": "privileged"})),
		"plain.yaml":      documents(t, namespaceWith("shop", nil)),
	})
	for _, tt := range []struct {
		name     string
		args     []string
		decision string
	}{
		{"below the default", []string{"privileged.yaml", "--as", "alice"}, "deny"},
		{"below the default, with the right", []string{"privileged.yaml", "--as", "carol"}, "allow"},
		{"below the default, of nobody", []string{"privileged.yaml"}, "allow"},
		{"above the default", []string{"restricted.yaml", "--as", "alice"}, "allow"},
		{"lowered", []string{"plain.yaml", "--operation", "UPDATE", "--old", dir + "/restricted.yaml", "--as", "alice"}, "deny"},
		{"raised", []string{"restricted.yaml", "--operation", "UPDATE", "--old", dir + "/privileged.yaml", "--as", "alice"}, "allow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := judge(t, append([]string{"check", "-p", dir + "/p", dir + "/" + tt.args[0]}, tt.args[1:]...)...)
			j.expect(t, tt.decision)
			if tt.decision == "deny" && !strings.Contains(j.only(t, "by-namespace").Message, `alice may not bring that about: it needs the verb exempt on clusterpolicies.sallyport.io "by-namespace"`) {
				t.Error(j.messages())
			}
		})
	}
	for user, allowed := range map[string]bool{"alice": false, "carol": true} {
		for _, subresource := range []string{"", "status", "finalize"} {
			review := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"","version":"v1","kind":"Namespace"},`+
				`"resource":{"group":"","version":"v1","resource":"namespaces"},"subResource":%q,"name":"shop","namespace":"shop","operation":"UPDATE","userInfo":{"username":%q},`+
				`"object":{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{}}},`+
				`"oldObject":{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}}}`, subresource, user)
			out := runWithInput(t, review, "review", "-p", dir+"/p", "-")
			if strings.Contains(out.stdout, `"allowed":true`) != allowed {
				t.Errorf("review by %s of %q: %s", user, subresource, out.stdout)
			}
		}
	}
}
