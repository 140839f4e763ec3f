package e2e

import (
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// TestBreakglassTwoClusters asks on the hub for a session in another cluster: it
// lets in there, and nowhere else.
func TestBreakglassTwoClusters(t *testing.T) {
	c := newTwoClusters(t)
	c.must(shared.Apply(t.Context(), `
apiVersion: sallyport.io/v1alpha1
kind: ClusterConfig
metadata: {name: member}
spec:
  clusterID: `+memberCluster+`
  kubeconfigSecretRef: {name: member}
  callers: {commonNames: [`+memberCaller+`]}
`))
	c.keep(c.kubeconfig)
	c.awaits("Connected")
	prepareBreakglass(t)
	c.must(c.member.Apply(t.Context(), `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cluster-ops, namespace: shop}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cluster-ops, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cluster-ops}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: cluster-ops}]
`))
	w := &workflowLab{t, c.s}
	there := func() lab.Result { return c.execs("web") }
	here := func() lab.Result { return execInto(t, alice, "shop", "privileged") }
	lists := func(l *lab.Lab, resource string) func() lab.Result {
		return func() lab.Result { return l.Kubectl(t.Context(), alice, "get", resource, "-n", "shop") }
	}
	w.until(there, false, "sallyport request session emergency-access --cluster "+memberCluster+" --reason")
	w.until(here, false, "sallyport request session emergency-access --cluster hub-lab --reason")

	name := w.askFor(memberCluster)
	w.sallyport("dave", "", true, []string{memberCluster}, "approve", "session", name, "--yes")
	w.until(there, true, "inside")
	w.until(lists(c.member, "configmaps"), true)
	// The group has other rights in the hub, and none of them reaches over.
	want(t, lists(c.member, "secrets")(), false, "forbidden")
	want(t, lists(shared, "configmaps")(), false, "forbidden")
	want(t, here(), false, "--cluster hub-lab")

	t.Run("whose it is", func(t *testing.T) {
		w := &workflowLab{t, c.s}
		// Its right to act as others is one in the member; so is the session.
		c.must(c.member.Apply(t.Context(), `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: acts}
rules: [{apiGroups: [""], resources: [users, groups], verbs: [impersonate]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: acts}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: acts}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dave}]
`))
		acts := func(user string) lab.Result {
			return c.member.Kubectl(t.Context(), "dave", "get", "--raw", "/api/v1/namespaces/shop/configmaps", "--as", user, "--as-group", "developers")
		}
		w.until(func() lab.Result { return acts("x") }, false, "cannot list resource")
		// The API server tells of the question that it asked first.
		want(t, acts(alice), false, "cannot impersonate")
		patch := func(groups string) {
			t.Helper()
			want(t, shared.Kubectl(t.Context(), root, "patch", "breakglassescalation", "emergency-access", "--type=merge", "-p", `{"spec":{"allowed":{"groups":["`+groups+`"]}}}`), true)
		}
		patch("seniors")
		w.until(there, false, "does not count: alice is in none of the groups")
		w.until(lists(c.member, "configmaps"), false, "forbidden")
		patch("developers")
		w.until(there, true, "inside")
	})
	t.Run("its doors", func(t *testing.T) {
		w := &workflowLab{t, c.s}
		reason := func(kind, is string) {
			t.Helper()
			w.await(root, is, "get", "breakglasssession", name, "-o", "jsonpath={.status.conditions[?(@.type==\""+kind+"\")].reason}")
		}
		doors := func(list string) {
			t.Helper()
			want(t, shared.Kubectl(t.Context(), root, "patch", "clusterconfig", "member", "--type=merge", "-p", `{"spec":{"doors":`+list+`}}`), true)
		}
		reason("EntriesKnown", "NoFrontDoor")
		reason("ImpersonationRefused", "NoSideDoor")
		doors(`["access"]`)
		reason("ImpersonationRefused", "SideDoor")
		doors(`["admission","access"]`)
		reason("EntriesKnown", "FrontDoor")
	})

	other := w.askFor("hub-lab")
	w.sallyport("carol", "", true, []string{"hub-lab"}, "approve", "session", other, "--yes")
	w.until(here, true, "inside")
	w.until(lists(shared, "secrets"), true)
	want(t, lists(c.member, "secrets")(), false, "forbidden")

	w.sallyport("carol", "", true, nil, "revoke", "session", name)
	w.until(there, false, "--cluster "+memberCluster)
	want(t, here(), true, "inside")
	want(t, shared.Kubectl(t.Context(), root, "delete", "breakglassescalation", "emergency-access"), true)
	w.until(here, false, "too risky")
}
