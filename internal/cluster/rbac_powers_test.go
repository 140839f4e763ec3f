package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

func named(r rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
	r.ResourceNames = names
	return r
}

func TestPowersOf(t *testing.T) {
	rules := func(r ...rbacv1.PolicyRule) []rbacv1.PolicyRule { return r }
	const rbac = rbacv1.GroupName
	tests := []struct {
		name      string
		rules     []rbacv1.PolicyRule
		namespace string
		want      []string
	}{
		{"reading secrets", rules(rule("", "secrets", "watch", "get")), "", []string{"may get and watch secrets in every namespace"}},
		{"over several rules", rules(rule("", "secrets", "list"), rule("", "secrets", "get")), "a", []string{"may get and list secrets in namespace a"}},
		{"patching answers with the secret", rules(rule("", "secrets", "patch")), "", []string{"may patch secrets in every namespace"}},
		{"deleting a collection answers with it", rules(rule("", "secrets", "deletecollection")), "", []string{"may deletecollection secrets in every namespace"}},
		{"only writing secrets", rules(rule("", "secrets", "create", "update", "delete")), "", nil},
		{"verbs are case-sensitive", rules(rule("", "secrets", "GET")), "", nil},
		{"another group", rules(rule("example.com", "secrets", "get")), "", nil},
		{"no group", rules(rbacv1.PolicyRule{Resources: []string{"secrets"}, Verbs: []string{"get"}}), "", nil},
		{"any group", rules(rule("*", "secrets", "get")), "", []string{"may get secrets in every namespace"}},
		{"any verb", rules(rule("", "secrets", "*")), "a", []string{"may get, list, watch, patch and deletecollection secrets in namespace a"}},
		{"named secrets", rules(named(rule("", "secrets", "get"), "a", "b", "c", "d")), "", []string{"may get secrets named a, b, c and 1 more in every namespace"}},
		{"named and all", rules(named(rule("", "secrets", "get", "list"), "a"), rule("", "secrets", "get")), "", []string{
			"may get secrets in every namespace", "may list secrets named a in every namespace",
		}},
		{"a collection has no name", rules(named(rule("", "secrets", "deletecollection"), "a")), "", nil},
		{"an empty name is that of a collection", rules(named(rule("", "secrets", "list"), "a", "")), "", []string{"may list secrets in every namespace"}},
		{"exec by WebSocket", rules(rule("", "pods/exec", "get")), "", []string{"may exec into pods in every namespace"}},
		{"exec by SPDY", rules(rule("", "pods/exec", "create")), "a", []string{"may exec into pods in namespace a"}},
		{"exec, listed", rules(rule("", "pods/exec", "list")), "", nil},
		{"exec of anything", rules(rule("", "*/exec", "create")), "", []string{"may exec into pods in every namespace"}},
		{"a wildcard that RBAC does not have", rules(rule("", "pods/*", "create")), "", nil},
		{"pods are not their subresources", rules(rule("", "pods", "create", "get", "patch", "update")), "", nil},
		{"attach", rules(rule("", "pods/attach", "create")), "", []string{"may attach to pods in every namespace"}},
		{"debug", rules(rule("", "pods/ephemeralcontainers", "patch")), "", []string{"may add ephemeral containers to pods in every namespace"}},
		{"logs and port-forwards", rules(rule("", "pods/log", "get"), rule("", "pods/portforward", "create")), "", nil},
		{"impersonation", rules(rule("", "users", "impersonate"), rule("", "groups", "impersonate"), rule("", "serviceaccounts", "impersonate")), "", []string{
			"may impersonate users", "may impersonate groups", "may impersonate service accounts in every namespace",
		}},
		{"impersonation in a namespace is that of service accounts", rules(rule("", "users", "impersonate"), rule("", "serviceaccounts", "impersonate")), "a", []string{
			"may impersonate service accounts in namespace a",
		}},
		{"impersonation of a named user", rules(named(rule("", "users", "impersonate"), "jane")), "", []string{"may impersonate users named jane"}},
		{"impersonation, constrained", rules(
			rule("authentication.k8s.io", "users", "impersonate:user-info"),
			rule("authentication.k8s.io", "serviceaccounts", "impersonate:serviceaccount"),
			rule("authentication.k8s.io", "nodes", "impersonate:associated-node"),
		), "", []string{"may impersonate users", "may impersonate service accounts in every namespace", "may impersonate nodes"}},
		{"extra attributes", rules(rule("authentication.k8s.io", "userextras/scopes", "impersonate")), "", []string{"may impersonate extra attributes of users"}},
		{"extra attributes of anything", rules(rule("authentication.k8s.io", "*/scopes", "impersonate")), "", []string{"may impersonate extra attributes of users"}},
		{"UIDs", rules(rule("authentication.k8s.io", "uids", "impersonate")), "", []string{"may impersonate UIDs"}},
		{"escalation", rules(rule(rbac, "roles", "escalate"), rule(rbac, "clusterroles", "escalate")), "", []string{
			"may escalate roles in every namespace", "may escalate cluster roles",
		}},
		{"binding", rules(rule(rbac, "*", "bind")), "a", []string{"may bind roles in namespace a", "may bind cluster roles in namespace a"}},
		{"bindings without bind", rules(rule(rbac, "rolebindings", "create"), rule(rbac, "roles", "create", "update")), "", nil},
		{"the kubelets", rules(rule("", "nodes/proxy", "get")), "", []string{"may reach the kubelets of nodes by proxy"}},
		{"nodes", rules(rule("", "nodes", "update", "patch"), rule("", "nodes/status", "patch")), "", []string{"may patch and update nodes", "may patch the status of nodes"}},
		{"reading nodes", rules(rule("", "nodes", "get", "list", "watch"), rule("", "nodes/metrics", "get")), "", nil},
		{"nodes in a namespace", rules(rule("", "nodes/proxy", "*")), "a", nil},
		{"tokens", rules(named(rule("", "serviceaccounts/token", "create"), "ci")), "a", []string{"may create tokens of service accounts named ci in namespace a"}},
		{"certificates", rules(rule("certificates.k8s.io", "signers", "sign", "approve"), rule("certificates.k8s.io", "certificatesigningrequests/approval", "update")), "", []string{
			"may approve and sign certificates for signers", "may approve certificate signing requests",
		}},
		{"everything", rules(rule("", "secrets", "get"), rule("*", "*", "*")), "", []string{"may do everything in every namespace"}},
		{"everything, by names", rules(named(rule("*", "*", "*"), "a")), "a", []string{
			"may get, list, watch and patch secrets named a in namespace a", "may exec into pods named a in namespace a", "may attach to pods named a in namespace a",
			"may add ephemeral containers to pods named a in namespace a", "may create tokens of service accounts named a in namespace a",
			"may impersonate service accounts named a in namespace a", "may escalate and bind roles named a in namespace a", "may bind cluster roles named a in namespace a",
		}},
		{"paths", rules(rbacv1.PolicyRule{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}}), "", nil},
		{"an empty rule", rules(rbacv1.PolicyRule{}), "", nil},
		{"no rule", nil, "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, powersOf(test.rules, test.namespace)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
