package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// peopleBindings give the roles that are shipped to accounts that have nothing
// else.
const peopleBindings = `
apiVersion: v1
kind: Namespace
metadata: {name: people}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: asker, namespace: people}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: stranger, namespace: people}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: approver, namespace: people}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: auditor, namespace: people}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: gitops, namespace: people}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: asker, namespace: dev}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-exception-requester}
subjects: [{kind: ServiceAccount, name: asker, namespace: people}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: people-approvers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-exception-approver}
subjects: [{kind: ServiceAccount, name: approver, namespace: people}, {kind: ServiceAccount, name: stranger, namespace: people}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: people-approve}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-approve-every-policy}
subjects: [{kind: ServiceAccount, name: approver, namespace: people}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: stranger, namespace: dev}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-approve-every-policy}
subjects: [{kind: ServiceAccount, name: stranger, namespace: people}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: people-auditors}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-exception-auditor}
subjects: [{kind: ServiceAccount, name: auditor, namespace: people}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: gitops, namespace: dev}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-exception-gitops}
subjects: [{kind: ServiceAccount, name: gitops, namespace: people}]
`

// TestExceptionRoles goes through the workflow with the roles that are shipped, and
// nothing beside them.
func TestExceptionRoles(t *testing.T) {
	w := newWorkflowLab(t)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		shared.Kubectl(ctx, root, "delete", "clusterrolebindings", "people-approvers", "people-approve", "people-auditors", "--ignore-not-found")
		shared.Kubectl(ctx, root, "delete", "rolebindings", "-n", "dev", "asker", "stranger", "gitops", "--ignore-not-found")
	})
	repository, err := lab.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"requester", "approver", "auditor", "gitops"} {
		text, err := os.ReadFile(filepath.Join(repository, "config", "rbac", "people", file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		w.apply(root, string(text))
	}
	w.apply(root, peopleBindings)
	const account = "system:serviceaccount:people:"
	latest := deploymentOf("test", "test:latest", named)
	w.refused(alice, "create", latest, "disallow-latest-tag")

	// Ask, change it, look at it.
	w.sallyport(account+"asker", documentRequest, true, []string{"sallyport approve dev/allow-tag-for-test"}, "request", "exception", "-f", "-", "-n", "dev")
	w.await(account+"asker", "Pending", "get", "policyexceptionrequest", "-n", "dev", "allow-tag-for-test", "-o", "jsonpath={.status.state}")
	want(t, w.do(account+"asker", strings.Replace(documentRequest, "allow-latest-tag-for-test", "the registry moves", 1), "apply"), true)
	w.sallyport(account+"asker", "", true, []string{"allow-tag-for-test", "Pending"}, "exceptions", "-n", "dev")
	w.sallyport(account+"asker", "", false, []string{"forbidden"}, "approve", "dev/allow-tag-for-test", "--yes")
	w.refused(account+"asker", "create", exceptionTo("e", "{policyName: disallow-latest-tag}"), "forbidden")

	// Who may answer requests, and approve only in the namespace, approves nothing
	// that is the cluster's.
	w.sallyport(account+"stranger", "", false, []string{`needs the verb approve on clusterpolicies.sallyport.io "disallow-latest-tag" cluster-wide`}, "approve", "dev/allow-tag-for-test", "--yes")
	w.sallyport(account+"stranger", "", false, []string{"needs the verb approve"}, "deny", "dev/allow-tag-for-test", "--yes", "--reason", "no")

	w.sallyport(account+"approver", "", true, []string{
		"The approval would excuse from:\n  ClusterPolicy disallow-latest-tag (validate-image-tag)", "Approved: ClusterPolicy disallow-latest-tag (validate-image-tag)",
	}, "approve", "dev/allow-tag-for-test", "--yes", "--reason", "fine")
	eventually(t, func() string {
		if r := w.do(alice, latest, "create", "--dry-run=server"); !r.OK() {
			return r.String()
		}
		return ""
	})
	w.sallyport(account+"auditor", "", true, []string{"dev/allow-tag-for-test", "Active", "system:serviceaccount:people:approver"}, "exceptions", "-A")
	want(t, shared.Kubectl(t.Context(), account+"auditor", "delete", "policyexceptionrequest", "-n", "dev", "allow-tag-for-test"), false, "forbidden")
	r := shared.Kubectl(t.Context(), account+"approver", "get", "policyexceptionresponses", "-o", "name")
	want(t, r, true)
	want(t, shared.Kubectl(t.Context(), account+"approver", "delete", strings.TrimSpace(r.Stdout)), true)
	want(t, shared.Kubectl(t.Context(), account+"asker", "delete", "policyexceptionrequest", "-n", "dev", "allow-tag-for-test"), true)

	// What applies exceptions needs an ExceptionPolicy, and nothing more.
	excepted := strings.Replace(exceptionTo("git", "{policyName: disallow-latest-tag}"), "kinds: [Pod, Pod/exec], names: [powerful]", "kinds: [Deployment], names: [test]", 1)
	w.refused(account+"gitops", "create", excepted, "needs the verb approve")
	w.apply(root, exceptionPolicy("reviewed-in-git", "{policies: [disallow-latest-tag], policyKinds: [ClusterPolicy], namespaces: [dev], writing: rbac}"))
	eventually(t, func() string {
		if r := w.do(account+"gitops", excepted, "apply", "--server-side", "--field-manager=gitops"); !r.OK() {
			return r.String()
		}
		return ""
	})
	want(t, w.do(account+"gitops", excepted, "apply", "--server-side", "--field-manager=gitops"), true)
	w.condition("git", "True RightToWrite")
	eventually(t, func() string {
		if r := w.do(alice, latest, "create", "--dry-run=server"); !r.OK() {
			return r.String()
		}
		return ""
	})
	w.sallyport(account+"auditor", "", true, []string{"dev/git", "Active"}, "exceptions", "-A")
}
