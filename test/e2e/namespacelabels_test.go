package e2e

import (
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// relabelPolicies go by labels of namespaces, each in another way and by another
// label.
const relabelPolicies = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: exempting}
spec:
  podSecurityRules:
    riskFactors: {privilegedContainer: 90}
    thresholds: [{maxScore: 50, action: allow}]
    exemptions: {namespaces: {selectorTerms: [{matchLabels: {lab/exempt: "yes"}}]}}
---
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: ruling}
spec:
  rules: [{verbs: ["*"], apiGroups: [""], resources: [pods/attach], namespaces: {selectorTerms: [{matchExpressions: [{key: lab/unruled, operator: DoesNotExist}, {key: lab/ruled, operator: Exists}]}]}}]
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: selecting}
spec:
  validationFailureAction: Audit
  validationFailureActionOverrides: [{action: Enforce, namespaceSelector: {matchLabels: {lab/strict: "yes"}}}]
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchExpressions: [{key: lab/tier, operator: NotIn, values: [none]}]}}}]}
    exclude: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {lab/skip: "*"}}}}]}
    validate: {pattern: {metadata: {labels: {team: "?*"}}}}
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: standards}
spec:
  rules:
  - name: standard
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {podSecurity: {level: namespace, defaults: {enforce: baseline}}}
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: reading}
spec:
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {cel: {expressions: [{expression: "namespaceObject.metadata.?labels[?'lab/owner'].orValue('') != 'nobody' && object.metadata.name != namespaceObject.metadata.?labels[?'lab/owner'].orValue('')"}]}}
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicyException
metadata: {name: excusing}
spec:
  reason: the lab
  exceptions: [{policyName: ruling}]
  match: {any: [{resources: {kinds: [Pod/attach], namespaceSelector: {matchLabels: {lab/excused: "yes"}}}}]}
---
apiVersion: sallyport.io/v1alpha1
kind: BreakglassEscalation
metadata: {name: escalating}
spec:
  allowed: {clusters: ["*"], groups: [sre]}
  approvers: {users: [bob]}
  podSecurityOverrides: {enabled: true, maxAllowedScore: 100, namespaceScope: {selectorTerms: [{matchLabels: {lab/debug: "yes"}}]}}
`

// relabelRights make carol and dave owners of namespaces; dave may exempt from what
// the policies name, too.
const relabelRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: relabel-owner}
rules:
- {apiGroups: [""], resources: [namespaces, namespaces/status, namespaces/finalize], verbs: [get, list, create, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: relabel-owner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: relabel-owner}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: dave}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: relabel-exempt}
rules:
- {apiGroups: [sallyport.io], resources: [denypolicies], resourceNames: [exempting, ruling], verbs: [exempt]}
- {apiGroups: [sallyport.io], resources: [clusterpolicies], resourceNames: [selecting, standards, reading], verbs: [exempt]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: relabel-exempt}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: relabel-exempt}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dave}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: relabel-everything, namespace: relabelled}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
`

// The owner of a namespace, whatever he may do in it, does not label it out of
// policies; who has the right may, and anybody may label it into them.
func TestLabelsOfNamespaces(t *testing.T) {
	guard(t, admissionDoor, relabelPolicies)
	if err := shared.CreateNamespace(t.Context(), "relabelled", nil); err != nil {
		t.Fatal(err)
	}
	if err := shared.Apply(t.Context(), relabelRights); err != nil {
		t.Fatal(err)
	}
	const ns, psa = "relabelled", "pod-security.kubernetes.io/"
	label := func(user string, labels ...string) lab.Result {
		return shared.Kubectl(t.Context(), user, append([]string{"label", "--overwrite", "namespace", ns}, labels...)...)
	}
	for _, test := range []struct {
		name string
		// into brings the namespace under more, if it is given; out of it under less.
		into, out string
		policy    string
		says      string
	}{
		{"an exemption", "lab/exempt-", "lab/exempt=yes", "denypolicies.sallyport.io \"exempting\"", "podSecurityRules.exemptions.namespaces exempts"},
		{"a rule that denies, by a label that is there", "lab/ruled=", "lab/unruled=", "denypolicies.sallyport.io \"ruling\"", "rules[0] is not about the namespace"},
		{"a rule that denies, by one that is gone", "lab/ruled=", "lab/ruled-", "denypolicies.sallyport.io \"ruling\"", "the label lab/ruled (removed)"},
		{"a selector", "lab/tier=gold", "lab/tier=none", "clusterpolicies.sallyport.io \"selecting\"", "it is about less in the namespace"},
		{"a selector, back", "lab/tier-", "lab/tier=none", "clusterpolicies.sallyport.io \"selecting\"", "it is about less in the namespace"},
		{"an action", "lab/strict=yes", "lab/strict-", "clusterpolicies.sallyport.io \"selecting\"", "its action becomes Audit, which was Enforce"},
		{"an exclusion", "lab/skip-", "lab/skip=a", "clusterpolicies.sallyport.io \"selecting\"", "it is about less in the namespace"},
		{"a Pod Security level", psa + "enforce=restricted", psa + "enforce=privileged", "clusterpolicies.sallyport.io \"standards\"", "enforce becomes privileged:latest, which was restricted:latest"},
		{"a Pod Security level, by default", psa + "enforce=restricted", psa + "enforce-", "clusterpolicies.sallyport.io \"standards\"", "enforce becomes baseline:latest"},
		{"a Pod Security version", psa + "enforce-version=latest", psa + "enforce-version=v1.24", "clusterpolicies.sallyport.io \"standards\"", "enforce becomes baseline:v1.24"},
		{"an expression", "", "lab/owner=a", "clusterpolicies.sallyport.io \"reading\"", "its expressions read the label"},
		{"an exception", "lab/excused-", "lab/excused=yes", "denypolicies.sallyport.io \"ruling\"", "ClusterPolicyException excusing excuses more"},
		{"an escalation", "lab/debug-", "lab/debug=yes", "denypolicies.sallyport.io \"exempting\"", "BreakglassEscalation escalating excuses pods"},
	} {
		t.Run(test.name, func(t *testing.T) {
			// root is a member of system:masters, who may do everything.
			want(t, label(root, "lab/exempt-", "lab/ruled-", "lab/unruled-", "lab/tier-", "lab/strict-", "lab/skip-", "lab/owner-", "lab/excused-", "lab/debug-", psa+"enforce-", psa+"enforce-version-"), true)
			if test.into != "" {
				want(t, label("carol", test.into, "lab/unrelated="+strings.ReplaceAll(strings.ReplaceAll(test.name, " ", "-"), ",", "")), true)
			}
			want(t, label("carol", test.out), false, `admission webhook "namespaces.sallyport.io" denied the request`, "carol may not bring that about: it needs the verb exempt on "+test.policy, test.says)
			want(t, label("dave", test.out), true)
			want(t, label(bob, test.out), true)
		})
	}
	// Back under everything, as the next begin with.
	want(t, label("carol", "lab/exempt-", "lab/debug-", "lab/excused-", "lab/skip-", psa+"enforce=restricted"), true)

	const refused = "it needs the verb exempt"
	exempting := `{"metadata":{"labels":{"lab/exempt":"yes"}}}`
	object := `{apiVersion: v1, kind: Namespace, metadata: {name: relabelled, labels: {lab/exempt: "yes", pod-security.kubernetes.io/enforce: restricted}}}`
	run := func(user, stdin string, args ...string) lab.Result {
		return shared.Run(t.Context(), lab.Kubectl{User: user, Stdin: strings.NewReader(stdin), Args: args})
	}
	for _, test := range []struct {
		name  string
		stdin string
		args  []string
	}{
		{"apply", object, []string{"apply", "-f", "-"}},
		{"apply on the server", object, []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}},
		{"replace", object, []string{"replace", "-f", "-"}},
		{"merge patch", "", []string{"patch", "namespace", ns, "--type=merge", "-p", exempting}},
		{"json patch", "", []string{"patch", "namespace", ns, "--type=json", "-p", `[{"op":"add","path":"/metadata/labels/lab~1exempt","value":"yes"}]`}},
		{"status", "", []string{"patch", "namespace", ns, "--subresource=status", "--type=merge", "-p", exempting}},
		{"finalize", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"relabelled","labels":{"lab/exempt":"yes"}},"spec":{"finalizers":["kubernetes"]}}`, []string{"replace", "--raw", "/api/v1/namespaces/relabelled/finalize", "-f", "-"}},
		{"creation", `{apiVersion: v1, kind: Namespace, metadata: {name: relabelled-new, labels: {lab/exempt: "yes"}}}`, []string{"create", "-f", "-"}},
		{"creation without a name", `{apiVersion: v1, kind: Namespace, metadata: {generateName: relabelled-, labels: {lab/exempt: "yes", kubernetes.io/metadata.name: sallyport-system}}}`, []string{"create", "-f", "-"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			want(t, run("carol", test.stdin, test.args...), false, refused)
		})
	}
	got := shared.Kubectl(t.Context(), root, "get", "namespace", ns, "--output=jsonpath={.metadata.labels.lab/exempt}")
	if got.Stdout != "" {
		t.Errorf("the label is there: %s", got)
	}
	// What changes no label that a policy goes by, and what labels a namespace into
	// policies, needs nothing.
	want(t, shared.Kubectl(t.Context(), "carol", "annotate", "namespace", ns, "a=b"), true)
	want(t, shared.Kubectl(t.Context(), "carol", "patch", "namespace", ns, "--subresource=status", "--type=merge", "-p", `{"metadata":{"labels":{"lab/unrelated":"status"}}}`), true)
	want(t, run("carol", `{apiVersion: v1, kind: Namespace, metadata: {name: relabelled-in, labels: {lab/ruled: "", lab/strict: "yes", pod-security.kubernetes.io/enforce: restricted}}}`, "create", "-f", "-"), true)
	// A namespace that ends is let go of by its controller.
	want(t, shared.Kubectl(t.Context(), root, "delete", "namespace", "relabelled-in", "--timeout=60s"), true)
}
