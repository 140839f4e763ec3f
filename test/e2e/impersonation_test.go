package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// actors give carol the rights of KEP-5284 and dave those of old; the group
// cluster-admins may do everything, and no one may be in it.
const actors = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: acts-by-kind}
rules:
- {apiGroups: [authentication.k8s.io], resources: [users, groups, uids, userextras/scopes], verbs: ["impersonate:user-info"]}
- {apiGroups: [authentication.k8s.io], resources: [serviceaccounts], verbs: ["impersonate:serviceaccount"]}
- {apiGroups: [authentication.k8s.io], resources: [nodes], verbs: ["impersonate:arbitrary-node"]}
- {apiGroups: [""], resources: [pods, secrets, configmaps], verbs: ["impersonate-on:user-info:list", "impersonate-on:serviceaccount:list", "impersonate-on:arbitrary-node:list"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: acts-by-kind}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: acts-by-kind}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: acts-as-of-old}
rules:
- {apiGroups: ["", authentication.k8s.io], resources: [users, groups, serviceaccounts, uids, userextras/scopes], verbs: [impersonate]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: acts-as-of-old}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: acts-as-of-old}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dave}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lab-cluster-admins}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: cluster-admins}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lab-default-account}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: developer}
subjects: [{kind: ServiceAccount, namespace: shop, name: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lab-account-asks}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: breakglass-requester}
subjects: [{kind: ServiceAccount, namespace: shop, name: default}]
`

// letAct applies the actors for the length of a test.
func letAct(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		unwire(t, func(ctx context.Context) error {
			shared.Kubectl(ctx, root, "delete", "clusterrolebinding", "acts-by-kind", "acts-as-of-old", "lab-cluster-admins", "lab-default-account", "lab-account-asks")
			shared.Kubectl(ctx, root, "delete", "clusterrole", "acts-by-kind", "acts-as-of-old")
			return nil
		})
	})
	if err := shared.Apply(t.Context(), actors); err != nil {
		t.Fatal(err)
	}
}

// lists lists a resource as a user who acts as another.
func lists(t *testing.T, user, resource string, as ...string) lab.Result {
	t.Helper()
	// By --raw: kubectl get would ask before what kinds there are.
	return shared.Kubectl(t.Context(), user, append([]string{"get", "--raw", "/api/v1/namespaces/shop/" + resource}, as...)...)
}

// TestImpersonationByKind has rules about impersonation hold for each way in which the
// API server asks, with kubectl as people use it. The API server keeps for ten seconds
// what it let somebody act as, so that no one is let act as who is refused later.
func TestImpersonationByKind(t *testing.T) {
	letAct(t)
	t.Run("a verb is its family", func(t *testing.T) {
		guard(t, accessDoor, `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: imp}
spec:
  rules: [{verbs: [impersonate], apiGroups: ["*"], resources: ["*"]}]
`)
		for name, user := range map[string]string{"by kind": "carol", "of old": "dave", "by one who may do everything": bob} {
			t.Run(name, func(t *testing.T) {
				want(t, lists(t, user, "pods", "--as", "x", "--as-group", "developers"), false, "is denied by rule 0")
				want(t, lists(t, user, "pods", "--as", "system:serviceaccount:shop:default"), false, "is denied by rule 0")
				want(t, lists(t, user, "pods", "--as", "system:node:worker-1"), false, "is denied by rule 0")
			})
		}
	})
	t.Run("a group by name", func(t *testing.T) {
		guard(t, accessDoor, `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: im}
spec:
  rules:
  - {verbs: ["*"], apiGroups: ["", "authentication.k8s.io"], resources: [groups], resourceNames: [cluster-admins]}
`)
		for name, user := range map[string]string{"by kind": "carol", "of old": "dave", "by one who may do everything": bob} {
			t.Run(name, func(t *testing.T) {
				says := "is denied by rule 0"
				if name == "of old" {
					// It may tell of the question that it asked first, which RBAC refuses. That
					// RBAC lets the user act as others shows below.
					says = "cannot impersonate"
				}
				want(t, lists(t, user, "secrets", "--as", "x-"+user, "--as-group", "cluster-admins"), false, says)
				want(t, lists(t, user, "secrets", "--as", "y-"+user, "--as-group", "cluster-admins", "--as-group", "a", "--as-group", "b", "--as-group", "c"), false, says)
				// Groups that no rule names are asked about one by one once "*" is refused.
				want(t, lists(t, user, "pods", "--as", "z-"+user, "--as-group", "developers", "--as-group", "a", "--as-group", "b", "--as-group", "c"), true)
			})
		}
	})
	t.Run("a service account by a rule of old", func(t *testing.T) {
		guard(t, accessDoor, `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: im}
spec:
  rules:
  - {verbs: [impersonate], apiGroups: [""], resources: [serviceaccounts], namespaces: [shop], resourceNames: [default]}
  - {verbs: [impersonate], apiGroups: [authentication.k8s.io], resources: [nodes], resourceNames: [worker-2]}
`)
		for name, user := range map[string]string{"by kind": "carol", "of old": "dave"} {
			t.Run(name, func(t *testing.T) {
				want(t, lists(t, user, "pods", "--as", "system:serviceaccount:shop:default"), false, "is denied by rule 0")
				want(t, lists(t, user, "pods", "--as", "system:node:worker-2"), false, "is denied by rule 1")
				want(t, lists(t, user, "pods", "--as", "v-"+user, "--as-group", "developers"), true)
			})
		}
	})
	for rule, name := range map[string]string{
		"users, resourceNames: [\"system:serviceaccount:shop:*\"]":       "a service account as a user",
		"groups, resourceNames: [\"system:serviceaccounts:shop\"]":       "a service account by its group",
		"users, resourceNames: [\"system:serviceaccount:shop:default\"]": "a service account by its name as a user",
	} {
		t.Run(name, func(t *testing.T) {
			resource, names, _ := strings.Cut(rule, ", ")
			guard(t, accessDoor, `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: im}
spec:
  rules: [{verbs: [impersonate], apiGroups: [""], resources: [`+resource+`], `+names+`}]
`)
			for _, user := range []string{"carol", "dave", bob} {
				want(t, lists(t, user, "pods", "--as", "system:serviceaccount:shop:default"), false, "is denied by rule 0")
			}
		})
	}
}
