package e2e

import (
	"fmt"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

const (
	roleKey, roleValue = "cloud.example.com/role", "payments"
	accountSource      = "{key: cloud.example.com/role, serviceAccount: {annotation: cloud.example.com/role}}"
)

// accountRoles let holder use the role of payments.
const accountRoles = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: use-role}
rules: [{apiGroups: [authorization.k8s.io], resources: [validatedannotations/payments], resourceNames: [cloud.example.com/role], verbs: [use]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: use-role}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: use-role}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: holder}]
`

func accountOf(name, annotations string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s, annotations: %s}\n", name, annotations)
}

func tokenSecret(name, account string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\ntype: kubernetes.io/service-account-token\nmetadata: {name: %s, annotations: {kubernetes.io/service-account.name: %s}}\n", name, account)
}

// newAccountLab has an account with an identity, paid, and one without, poor, and
// a pod of paid that runs.
func newAccountLab(t *testing.T) *identityLab {
	t.Helper()
	l := newIdentityLabWith(t, identityOptions{
		sources: documentSources + sourceOf("role", accountSource),
		objects: accountRoles + accountOf("paid", "{cloud.example.com/role: payments}") + accountOf("poor", "{note: none}"),
	})
	l.awaitUse(holder, roleKey, roleValue)
	l.runningPods(podOf("app", noClaim, "serviceAccountName: paid"), "app")
	return l
}

// TestIdentityServiceAccounts are the rows of the table of operations about
// service accounts and their tokens.
func TestIdentityServiceAccounts(t *testing.T) {
	l := newAccountLab(t)
	l.run("a pod of the account", func(l *identityLab) {
		l.refused(l.feed(employee, podOf("mine", noClaim, "serviceAccountName: paid"), "create"), roleKey, roleValue)
		l.allowed(l.feed(employee, podOf("mine", noClaim, "serviceAccountName: poor"), "create"))
		l.allowed(l.feed(holder, podOf("theirs", noClaim, "serviceAccountName: paid"), "create"))
		l.refused(l.exec(employee, "app"), roleKey, roleValue)
		l.refused(l.exec(employee, "app", lab.SPDY...), roleKey, roleValue)
		l.allowed(l.exec(holder, "app"), "inside")
	})
	l.run("a workload of the account", func(l *identityLab) {
		for _, w := range workloads {
			l.refused(l.feed(employee, w.with("mine", noClaim, appImage, "serviceAccountName: paid, "), "create"), roleKey, roleValue)
		}
		l.allowed(l.feed(employee, stopped(workloadOf("Deployment"), "web", noClaim), "create"))
		l.refused(l.do(employee, "set", "serviceaccount", "deployment/web", "paid"), roleKey, roleValue)
		l.allowed(l.do(holder, "set", "serviceaccount", "deployment/web", "paid"))
	})
	l.run("create an account", func(l *identityLab) {
		l.refused(l.feed(employee, accountOf("new", "{cloud.example.com/role: payments}"), "create"), roleKey, roleValue)
		l.refused(l.feed(holder, accountOf("new", "{cloud.example.com/role: other}"), "create"), roleKey, "other")
		l.allowed(l.feed(employee, accountOf("plain", "{note: a}"), "create"))
		l.allowed(l.feed(holder, accountOf("new", "{cloud.example.com/role: payments}"), "create"))
	})
	l.run("update an account", func(l *identityLab) {
		annotate := func(user, account, annotation string) lab.Result {
			return l.do(user, "annotate", "--overwrite", "serviceaccount", account, annotation)
		}
		l.refused(annotate(employee, "poor", "cloud.example.com/role=payments"), roleKey, roleValue)
		l.refused(annotate(employee, "paid", "cloud.example.com/role=other"), roleKey, "other")
		l.refused(annotate(holder, "paid", "cloud.example.com/role=other"), roleKey, "other")
		l.allowed(annotate(employee, "paid", "note=b"))
		l.allowed(annotate(holder, "plain", "cloud.example.com/role=payments"))
	})
	l.run("kubectl create token", func(l *identityLab) {
		l.refused(l.do(employee, "create", "token", "paid"), roleKey, roleValue)
		l.refused(l.do(employee, "create", "token", "paid", "--audience", "vault"), roleKey, roleValue)
		l.allowed(l.do(employee, "create", "token", "poor"))
		l.allowed(l.do(holder, "create", "token", "paid"))
	})
	l.run("a Secret with a token", func(l *identityLab) {
		l.refused(l.feed(employee, tokenSecret("mine", "paid"), "create"), roleKey, roleValue)
		l.refused(l.feed(employee, tokenSecret("mine", "paid"), "apply", "--server-side"), roleKey, roleValue)
		l.allowed(l.feed(employee, tokenSecret("poor", "poor"), "create"))
		l.allowed(l.feed(holder, tokenSecret("theirs", "paid"), "create"))
		l.allowed(l.do(employee, "create", "secret", "generic", "other", "--from-literal=a=b"))
	})
	// A node needs the tokens of the pods that it runs.
	l.run("the node of the pod", func(l *identityLab) {
		bound := []string{"create", "token", "paid", "--bound-object-kind=Pod", "--bound-object-name=app", "--bound-object-uid=" + l.get("pod/app", "{.metadata.uid}")}
		l.allowed(l.as("system:node:"+lab.NodeName, []string{"system:nodes"}, "", bound...))
		l.refused(l.do(employee, bound...), roleKey, roleValue)
		// Who only calls herself a node is none.
		l.refused(l.as("system:node:"+lab.NodeName, []string{"staff"}, "", bound...), roleKey)
	})
}

// TestIdentityAccountSwap gives an account that pods use already an identity.
func TestIdentityAccountSwap(t *testing.T) {
	l := newAccountLab(t)
	l.allowed(l.feed(employee, podOf("sleeper", noClaim, "serviceAccountName: poor"), "create"))
	if err := shared.AwaitRunning(t.Context(), l.namespace, "sleeper"); err != nil {
		t.Fatal(err)
	}
	l.allowed(l.exec(employee, "sleeper"), "inside")
	for name, args := range map[string][]string{
		"annotate":            {"annotate", "serviceaccount", "poor", "cloud.example.com/role=payments"},
		"merge patch":         {"patch", "serviceaccount", "poor", "--type=merge", "-p", `{"metadata":{"annotations":{"cloud.example.com/role":"payments"}}}`},
		"JSON patch":          {"patch", "serviceaccount", "poor", "--type=json", "-p", `[{"op":"add","path":"/metadata/annotations/cloud.example.com~1role","value":"payments"}]`},
		"strategic merge":     {"patch", "serviceaccount", "poor", "-p", `{"metadata":{"annotations":{"cloud.example.com/role":"payments"}}}`},
		"the default account": {"annotate", "serviceaccount", "default", "cloud.example.com/role=payments"},
	} {
		l.run(name, func(l *identityLab) { l.refused(l.do(employee, args...), roleKey, roleValue) })
	}
	l.run("replace", func(l *identityLab) {
		l.refused(l.feed(employee, accountOf("poor", "{cloud.example.com/role: payments}"), "replace"), roleKey, roleValue)
	})
	l.run("server-side apply", func(l *identityLab) {
		l.refused(l.feed(employee, accountOf("poor", "{cloud.example.com/role: payments}"), "apply", "--server-side", "--force-conflicts"), roleKey, roleValue)
	})
	// Once somebody who may has done it, the pod is one that holds the identity.
	l.run("by the holder", func(l *identityLab) {
		l.allowed(l.do(holder, "annotate", "serviceaccount", "poor", "cloud.example.com/role=payments"))
		eventually(l.T, func() string {
			if r := l.exec(employee, "sleeper"); r.OK() {
				return "the employee still gets into the pod: " + r.String()
			}
			return ""
		})
		l.refused(l.exec(employee, "sleeper"), roleKey, roleValue)
		l.allowed(l.exec(holder, "sleeper"), "inside")
	})
}
