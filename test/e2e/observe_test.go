package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

// observedPolicies refuse pods without a label, and getting into those that are privileged.
const observedPolicies = `
apiVersion: sallyport.io/v1alpha1
kind: DenyPolicy
metadata: {name: observed-exec}
spec: {podSecurityRules: {blockFactors: [privilegedContainer]}}
---
apiVersion: sallyport.io/v1alpha1
kind: ClusterPolicy
metadata: {name: observed-labels}
spec:
  validationFailureAction: Enforce
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod], namespaces: [observed]}}]}
    validate: {pattern: {metadata: {labels: {team: "?*"}}}}
---
apiVersion: sallyport.io/v1alpha1
kind: IdentitySource
metadata: {name: observed-identity}
spec: {key: observed, podAnnotation: {}}
`

const observedPod = `
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: observed, annotations: {observed: somebody}}
spec: {containers: [{name: app, image: registry.example.com/tool:1, securityContext: {privileged: true}}]}
`

// TestObserve plays the way from observing to enforcing: nothing is refused at either door,
// what would be is counted and recorded, policies say that they are not enforced, and with
// --mode enforce each is.
func TestObserve(t *testing.T) {
	ctx := t.Context()
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	start := func(mode string) *lab.Sallyport {
		t.Helper()
		s, err := shared.StartSallyport(ctx, lab.SallyportOptions{Binary: binary, Name: "observe-" + mode, Args: []string{"--mode", mode, "--audit-log", audit}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	wire := func(s *lab.Sallyport) {
		t.Helper()
		if err := shared.WireAdmission(ctx, s, nil); err != nil {
			t.Fatal(err)
		}
		if err := shared.WireAccess(ctx, s, wiring.Authorizer{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := shared.CreateNamespace(ctx, "observed", nil); err != nil {
		t.Fatal(err)
	}
	s := start("observe")
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	wire(s)
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission); unwire(t, shared.UnwireAccess) })
	followRules(t)
	deleteAfter(t, "denypolicy/observed-exec", "clusterpolicy/observed-labels", "identitysource/observed-identity")
	deleteAfter(t, "pods", "--all", "-n", "observed", "--force", "--grace-period=0")
	want(t, apply(t, root, observedPolicies), true)
	for _, policy := range []string{"denypolicy/observed-exec", "clusterpolicy/observed-labels", "identitysource/observed-identity"} {
		enforced(t, policy, "False", "this installation only observes (--mode observe)")
	}

	want(t, apply(t, bob, strings.ReplaceAll(observedPod, "NAME", "first")), true)
	if err := shared.AwaitRunning(ctx, "observed", "first"); err != nil {
		t.Fatal(err)
	}
	want(t, execInto(t, bob, "observed", "first"), true, "inside")
	eventually(t, func() string {
		_, metrics, err := s.Get(ctx, "/metrics")
		for _, line := range []string{
			`sallyport_would_deny_total{door="admission",kind="ClusterPolicy",policy="observed-labels"} `, `sallyport_would_deny_total{door="access",kind="DenyPolicy",policy="observed-exec"} `,
		} {
			if !strings.Contains(metrics, line) {
				return fmt.Sprintf("there is no %s (%v)", line, err)
			}
		}
		if strings.Contains(metrics, `decision="deny"`) {
			return "something was refused"
		}
		return ""
	})
	eventually(t, func() string {
		text, err := os.ReadFile(audit)
		for _, says := range []string{`"AdmissionWouldDeny"`, `"PodSecurityWouldDeny"`, `"decision":"wouldDeny"`, `"wouldDeny":true`} {
			if !strings.Contains(string(text), says) {
				return fmt.Sprintf("the audit log does not say %s (%v)", says, err)
			}
		}
		return ""
	})
	// What would harm Sallyport itself is refused all the same.
	want(t, apply(t, root, "apiVersion: sallyport.io/v1alpha1\nkind: ClusterPolicy\nmetadata: {name: observed-broken}\nspec: {rules: [{name: a, match: {any: [{resources: {kinds: [Nonsense/Of/All]}}]}, validate: {pattern: {a: b}}}]}"), false, "observed-broken")

	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s = start("enforce")
	wire(s)
	for _, policy := range []string{"denypolicy/observed-exec", "clusterpolicy/observed-labels", "identitysource/observed-identity"} {
		enforced(t, policy, "True", "every replica has it in force")
	}
	want(t, apply(t, bob, strings.ReplaceAll(observedPod, "NAME", "second")), false, "observed-labels")
	want(t, execInto(t, bob, "observed", "first"), false, "observed-exec")

	// What a policy only audits is let in at both doors.
	want(t, shared.Kubectl(ctx, root, "patch", "denypolicy/observed-exec", "--type=merge", "-p", `{"spec":{"enforcementAction":"audit"}}`), true)
	awaitResult(t, func() lab.Result { return execInto(t, bob, "observed", "first") }, true, "inside")
	want(t, shared.Kubectl(ctx, root, "patch", "denypolicy/observed-exec", "--type=merge", "-p", `{"spec":{"enforcementAction":"deny"}}`), true)
	awaitResult(t, func() lab.Result { return execInto(t, bob, "observed", "first") }, false, "observed-exec")
}
