package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/test/lab"
)

// What somebody would excuse himself from: of the whole cluster, and one of his own
// namespace.
const guardedPolicies = `
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: baseline}
spec:
  validationFailureAction: Enforce
  rules:
  - name: baseline
    match: {any: [{resources: {kinds: [Pod], namespaces: [dev]}}]}
    validate: {message: baseline, podSecurity: {level: baseline, version: latest}}
---
apiVersion: sallyport.io/v1alpha1
kind: IdentitySource
metadata: {name: kerberos}
spec: {key: kerberos, podAnnotation: {}}
---
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: no-exec}
spec: {rules: [{verbs: [create, get], apiGroups: [""], resources: [pods/exec], namespaces: {patterns: [dev]}}]}
---
apiVersion: sallyport.io/v1alpha1
kind: Policy
metadata: {name: local, namespace: dev}
spec:
  validationFailureAction: Enforce
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: say whose it is, pattern: {metadata: {labels: {team: "?*"}}}}
`

// The owner of a namespace has everything in it, and nothing beyond; the writer may
// write exceptions everywhere, and approve none.
const owners = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: owner, namespace: dev}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: writer, namespace: dev}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: everything, namespace: dev}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: owner, namespace: dev}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: everything}
subjects: [{kind: ServiceAccount, name: owner, namespace: dev}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: writes-exceptions}
rules: [{apiGroups: [sallyport.io], resources: [policyexceptions, clusterpolicyexceptions], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: writes-exceptions}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writes-exceptions}
subjects: [{kind: ServiceAccount, name: writer, namespace: dev}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: approves-all}
rules:
- {apiGroups: [sallyport.io], resources: [policyexceptions, clusterpolicyexceptions], verbs: ["*"]}
- {apiGroups: [sallyport.io], resources: [clusterpolicies, denypolicies, identitysources, policies, clusteradmissionpolicies, admissionpolicies], verbs: [approve]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: approves-all}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: approves-all}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dave}]
`

const (
	nsOwner  = "system:serviceaccount:dev:owner"
	nsWriter = "system:serviceaccount:dev:writer"
)

func newWritingLab(t *testing.T) *workflowLab {
	w := newWorkflowLab(t)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, kind := range []string{"identitysources", "denypolicies"} {
			shared.Kubectl(ctx, root, "delete", kind, "--all", "--ignore-not-found")
		}
		shared.Kubectl(ctx, root, "delete", "policies.sallyport.io", "-n", "dev", "--all", "--ignore-not-found")
		shared.Kubectl(ctx, root, "delete", "clusterrolebindings", "approves-all", "writes-exceptions", "--ignore-not-found")
	})
	w.apply(root, owners)
	w.apply(root, guardedPolicies)
	w.await(root, "True True", "get", "clusterpolicy/baseline", "identitysource/kerberos", "denypolicy/no-exec", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
	w.await(root, "True", "get", "policies.sallyport.io", "-n", "dev", "local", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	// Until the set that knows all of them judges.
	eventually(t, func() string {
		if r := w.do(nsOwner, powerfulPod, "create", "--dry-run=server"); r.OK() || !strings.Contains(r.Stderr, "baseline") || !strings.Contains(r.Stderr, "kerberos") {
			return r.String()
		}
		return ""
	})
	return w
}

const powerfulPod = `
apiVersion: v1
kind: Pod
metadata: {name: powerful, namespace: dev, labels: {app.kubernetes.io/name: powerful}, annotations: {kerberos: payments}}
spec: {containers: [{name: c, image: "registry.example.com/c:1", securityContext: {privileged: true}}]}
`

// exceptionTo is a PolicyException of namespace dev for the pod.
func exceptionTo(name, excepted string, more ...string) string {
	return fmt.Sprintf(`
apiVersion: sallyport.io/v1alpha1
kind: PolicyException
metadata: {name: %s, namespace: dev}
spec:
  exceptions: [%s]
  match: {any: [{resources: {kinds: [Pod, Pod/exec], names: [powerful]}}]}
  reason: so that it runs
%s`, name, excepted, strings.Join(more, "\n"))
}

func (w *workflowLab) condition(name, says string) {
	w.Helper()
	w.await(root, says, "get", "policyexception", "-n", "dev", name, "-o", `jsonpath={.status.conditions[?(@.type=="Approved")].status} {.status.conditions[?(@.type=="Approved")].reason} {.status.conditions[?(@.type=="Approved")].message}`)
}

func (w *workflowLab) letIn(user, manifest string) {
	w.Helper()
	eventually(w.T, func() string {
		if r := w.do(user, manifest, "create", "--dry-run=server"); !r.OK() {
			return r.String()
		}
		return ""
	})
}

func (w *workflowLab) keptOut(user, manifest string, says ...string) {
	w.Helper()
	eventually(w.T, func() string {
		r := w.do(user, manifest, "create", "--dry-run=server")
		for _, text := range says {
			if !strings.Contains(r.Stderr, text) {
				return r.String()
			}
		}
		if r.OK() {
			return "it is still let in"
		}
		return ""
	})
}

// TestNoOneExcusesHimself has somebody with everything in one namespace write
// exceptions for himself, by every way that changes what one says.
func TestNoOneExcusesHimself(t *testing.T) {
	w := newWritingLab(t)
	const ask = "PolicyExceptionRequest"
	for name, c := range map[string]struct {
		user, manifest string
		says           []string
	}{
		"baseline":                   {nsOwner, exceptionTo("e", "{policyName: baseline}"), []string{`needs the verb approve on clusterpolicies.sallyport.io "baseline" cluster-wide`, ask}},
		"baseline, by kind":          {nsOwner, exceptionTo("e", "{policyName: baseline, policyKind: ClusterPolicy}"), []string{`approve on clusterpolicies.sallyport.io "baseline" cluster-wide`, ask}},
		"an identity":                {nsOwner, exceptionTo("e", "{policyName: kerberos}"), []string{"IdentitySource kerberos", "policyKinds", `approve on identitysources.sallyport.io "kerberos" cluster-wide`, ask}},
		"a DenyPolicy":               {nsOwner, exceptionTo("e", "{policyName: no-exec}"), []string{"DenyPolicy no-exec", "policyKinds", `approve on denypolicies.sallyport.io "no-exec" cluster-wide`, ask}},
		"all three":                  {nsOwner, exceptionTo("e", "{policyName: baseline}, {policyName: kerberos}, {policyName: no-exec}"), []string{"IdentitySource kerberos", ask}},
		"an identity, with approve":  {"dave", exceptionTo("e", "{policyName: kerberos}"), []string{"only where an ExceptionPolicy names that kind"}},
		"what is not there":          {nsOwner, exceptionTo("e", "{policyName: to-come}"), []string{"which no policy is called now", `clusterpolicies.sallyport.io "to-come" cluster-wide`, `clusteradmissionpolicies.sallyport.io "to-come" cluster-wide`}},
		"an identity to come":        {nsOwner, exceptionTo("e", "{policyName: to-come, policyKind: IdentitySource}"), []string{"IdentitySource to-come"}},
		"a policy of another's":      {nsOwner, exceptionTo("e", "{policyName: other/local}"), []string{`policies.sallyport.io "local" in namespace other`, `admissionpolicies.sallyport.io "local" in namespace other`}},
		"one of two is not approved": {nsOwner, exceptionTo("e", "{policyName: local}, {policyName: baseline}"), []string{`exceptions[1] names "baseline"`}},
		"for the whole cluster": {nsWriter, strings.NewReplacer("kind: PolicyException", "kind: ClusterPolicyException", ", namespace: dev}", "}").Replace(exceptionTo("e", "{policyName: baseline}, {policyName: kerberos}, {policyName: no-exec}")),
			[]string{`clusterpolicies.sallyport.io "baseline"`, `identitysources.sallyport.io "kerberos" cluster-wide`, `denypolicies.sallyport.io "no-exec" cluster-wide`}},
	} {
		t.Run(name, func(*testing.T) { w.refused(c.user, "create", c.manifest, c.says...) })
	}
	t.Run("by server-side apply", func(t *testing.T) {
		want(t, w.do(nsOwner, exceptionTo("e", "{policyName: baseline}"), "apply", "--server-side"), false, "needs the verb approve")
	})
	t.Run("with a record of his own", func(*testing.T) {
		forged := strings.Replace(exceptionTo("e", "{policyName: baseline}"), "namespace: dev}", `namespace: dev, annotations: {sallyport.io/approval: '{"by":"dave","at":"2026-11-28T12:00:00Z","spec":"x","kinds":[["ClusterPolicy"]]}'}}`, 1)
		w.refused(nsOwner, "create", forged, "needs the verb approve")
	})

	t.Run("a pattern", func(t *testing.T) {
		w.apply(root, "apiVersion: sallyport.io/v1alpha1\nkind: ExceptionPolicy\nmetadata: {name: patterns}\nspec: {policies: ['*'], allowAnyPolicy: true}\n")
		eventually(t, func() string {
			r := w.do(nsOwner, exceptionTo("e", "{policyName: 'base*'}"), "create", "--dry-run=server")
			if r.OK() || !strings.Contains(r.Stderr, "clusterpolicies.sallyport.io, whatever its name, cluster-wide") || !strings.Contains(r.Stderr, "clusteradmissionpolicies.sallyport.io, whatever its name, cluster-wide") {
				return r.String()
			}
			return ""
		})
		// Who may approve all of it writes it, and it reaches no identity.
		w.apply("dave", exceptionTo("pattern", "{policyName: '*'}"))
		w.keptOut(nsOwner, powerfulPod, "kerberos", "PolicyException dev/pattern does not excuse it")
		want(t, shared.Kubectl(t.Context(), root, "delete", "policyexception", "-n", "dev", "pattern"), true)
		want(t, shared.Kubectl(t.Context(), root, "delete", "exceptionpolicy", "patterns"), true)
	})
	t.Run("what is of his own namespace", func(t *testing.T) {
		want(t, w.do(nsOwner, exceptionTo("own", "{policyName: local, policyKind: Policy}"), "create"), true)
		w.condition("own", "True Approved approved by "+nsOwner)
	})
	t.Run("what is approved is pinned", func(t *testing.T) {
		w.apply("dave", exceptionTo("pinned", "{policyName: baseline}"))
		w.condition("pinned", "True Approved approved by dave")
		w.keptOut(nsOwner, powerfulPod, "kerberos")
		// An identity that comes to have the name is not excused by it.
		w.apply(root, "apiVersion: sallyport.io/v1alpha1\nkind: IdentitySource\nmetadata: {name: baseline}\nspec: {key: spiffe, podAnnotation: {}}\n")
		w.keptOut(nsOwner, strings.Replace(powerfulPod, "{kerberos: payments}", "{spiffe: payments}", 1), "IdentitySource baseline", "PolicyException dev/pinned does not excuse it")
		w.condition("pinned", "does not excuse from IdentitySource baseline")
	})
}

// TestExceptionsAreAppliedAgain lets somebody who may not approve apply what was
// approved again, and change nothing of it.
func TestExceptionsAreAppliedAgain(t *testing.T) {
	w := newWritingLab(t)
	approved := exceptionTo("e", "{policyName: baseline}")
	w.apply("dave", approved)
	w.condition("e", "True Approved approved by dave")
	record := func() string {
		t.Helper()
		r := shared.Kubectl(t.Context(), root, "get", "policyexception", "-n", "dev", "e", "-o", `jsonpath={.metadata.annotations.sallyport\.io/approval}`)
		want(t, r, true, `"by":"dave"`, `"kinds":[["ClusterPolicy"]]`)
		return r.Stdout
	}
	before := record()
	onlyIdentity := strings.Replace(powerfulPod, ", annotations: {kerberos: payments}", "", 1)
	w.letIn(nsOwner, onlyIdentity)
	again := []struct {
		name string
		do   func() lab.Result
	}{
		{"apply", func() lab.Result { return w.do(nsWriter, approved, "apply") }},
		{"server-side apply", func() lab.Result {
			return w.do(nsWriter, approved, "apply", "--server-side", "--force-conflicts", "--field-manager=gitops")
		}},
		{"server-side apply, the second time", func() lab.Result { return w.do(nsWriter, approved, "apply", "--server-side", "--field-manager=gitops") }},
		{"replace", func() lab.Result { return w.do(nsWriter, approved, "replace") }},
		{"label", func() lab.Result {
			return shared.Kubectl(t.Context(), nsWriter, "label", "policyexception", "-n", "dev", "e", "by=gitops")
		}},
		{"annotate", func() lab.Result {
			return shared.Kubectl(t.Context(), nsWriter, "annotate", "policyexception", "-n", "dev", "e", "by=gitops")
		}},
		{"a record of his own", func() lab.Result {
			return shared.Kubectl(t.Context(), nsWriter, "annotate", "--overwrite", "policyexception", "-n", "dev", "e", "sallyport.io/approval=me")
		}},
		{"no record", func() lab.Result {
			return shared.Kubectl(t.Context(), nsWriter, "annotate", "policyexception", "-n", "dev", "e", "sallyport.io/approval-")
		}},
	}
	for _, one := range again {
		t.Run(one.name, func(t *testing.T) {
			want(t, one.do(), true)
			if after := record(); after != before {
				t.Errorf("the record was\n%s\nand is\n%s", before, after)
			}
		})
	}
	for name, patch := range map[string]string{
		"a wider match":    `{"spec":{"match":{"any":[{"resources":{"kinds":["Pod"]}}]}}}`,
		"another policy":   `{"spec":{"exceptions":[{"policyName":"require-labels"}]}}`,
		"another reason":   `{"spec":{"reason":"because"}}`,
		"no kind any more": `{"spec":{"exceptions":[{"policyName":"baseline"},{"policyName":"require-labels"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			want(t, shared.Kubectl(t.Context(), nsWriter, "patch", "policyexception", "-n", "dev", "e", "--type=merge", "-p", patch), false, "needs the verb approve on clusterpolicies.sallyport.io", "PolicyExceptionRequest")
		})
	}
	t.Run("server-side apply of another spec", func(t *testing.T) {
		want(t, w.do(nsWriter, strings.Replace(approved, "so that it runs", "more", 1), "apply", "--server-side", "--force-conflicts", "--field-manager=gitops"), false, "needs the verb approve")
	})
	t.Run("after a restart", func(t *testing.T) {
		if err := w.s.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := w.s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.letIn(nsOwner, onlyIdentity)
		want(t, w.do(nsWriter, approved, "apply"), true)
		want(t, shared.Kubectl(t.Context(), nsWriter, "patch", "policyexception", "-n", "dev", "e", "--type=merge", "-p", `{"spec":{"reason":"because"}}`), false, "needs the verb approve")
		w.sallyport("bob", "", true, []string{`"approved": true`, `"approver": "dave"`, `"policyKinds": [`}, "exceptions", "-n", "dev", "-o", "json")
	})
}

func exceptionPolicy(name, spec string) string {
	return fmt.Sprintf("apiVersion: sallyport.io/v1alpha1\nkind: ExceptionPolicy\nmetadata: {name: %s}\nspec: %s\n", name, spec)
}

// TestWritingIsEnough leaves approval to the right to write, for what an
// ExceptionPolicy says and as long as it says so.
func TestWritingIsEnough(t *testing.T) {
	w := newWritingLab(t)
	plain := exceptionTo("e", "{policyName: baseline}")
	pod := strings.Replace(powerfulPod, ", annotations: {kerberos: payments}", "", 1)
	rule := func(name, spec string) {
		t.Helper()
		w.apply(root, exceptionPolicy(name, spec))
	}
	taken := func(manifest string) {
		t.Helper()
		eventually(t, func() string {
			if r := w.do(nsWriter, manifest, "apply"); !r.OK() {
				return r.String()
			}
			return ""
		})
	}
	turnedDown := func(manifest string, says string) {
		t.Helper()
		eventually(t, func() string {
			if r := w.do(nsWriter, manifest, "create", "--dry-run=server"); r.OK() || !strings.Contains(r.Stderr, says) {
				return r.String()
			}
			return ""
		})
	}
	rule("gitops", "{policies: [baseline], namespaces: [other], writing: rbac}")
	turnedDown(plain, "needs the verb approve")
	rule("gitops", "{policies: [baseline], namespaces: [dev], writing: rbac}")
	taken(plain)
	w.condition("e", "True RightToWrite")
	w.letIn(nsOwner, pod)
	turnedDown(exceptionTo("f", "{policyName: baseline}, {policyName: require-labels}"), `exceptions[1] names "require-labels"`)
	// Where another says approve, the stricter of the two holds, also for what is there.
	rule("strict", "{policies: [base*], writing: approve}")
	turnedDown(exceptionTo("f", "{policyName: baseline}"), "needs the verb approve")
	w.keptOut(nsOwner, pod, "PolicyException dev/e does not excuse it", "no one approved it")
	want(t, w.do(nsWriter, plain, "apply"), true)
	want(t, shared.Kubectl(t.Context(), root, "delete", "exceptionpolicy", "strict"), true)
	w.letIn(nsOwner, pod)
	// Gone, it lets nothing be written, and excuses nothing that it let.
	want(t, shared.Kubectl(t.Context(), root, "delete", "exceptionpolicy", "gitops"), true)
	w.keptOut(nsOwner, pod, "no one approved it")
	w.condition("e", "False NoEffect")
	want(t, w.do(nsWriter, plain, "apply"), true)

	t.Run("identities have to be named", func(t *testing.T) {
		identity := exceptionTo("identity", "{policyName: kerberos, policyKind: IdentitySource}")
		rule("gitops", "{policies: ['*'], writing: rbac}")
		w.letIn(nsOwner, pod)
		turnedDown(identity, "only where an ExceptionPolicy names that kind")
		rule("named", "{policies: [kerberos], policyKinds: [IdentitySource], writing: approve}")
		turnedDown(identity, `approve on identitysources.sallyport.io "kerberos" cluster-wide`)
		w.apply("dave", identity)
		w.letIn(nsOwner, powerfulPod)
		want(t, shared.Kubectl(t.Context(), root, "delete", "exceptionpolicy", "named"), true)
		w.keptOut(nsOwner, powerfulPod, "kerberos", "PolicyException dev/identity does not excuse it")
		rule("named", "{policies: [kerberos], policyKinds: [IdentitySource, DenyPolicy], writing: rbac}")
		w.letIn(nsOwner, powerfulPod)
		taken(strings.Replace(identity, "so that it runs", "again", 1))
	})
	t.Run("what is broken gives nothing", func(t *testing.T) {
		want(t, w.do(root, exceptionPolicy("broken", "{policies: ['*'], writing: yes}"), "create"), false, "writing")
		want(t, w.do(root, exceptionPolicy("broken", "{policies: ['*'], policyKinds: [Deployment]}"), "create"), false, "policyKinds")
		want(t, w.do(root, exceptionPolicy("broken", "{policies: ['*'], policyKinds: []}"), "create"), false, "policyKinds")
	})
}
