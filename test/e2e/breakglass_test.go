package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/test/lab"
)

// The escalations of the tests: developers may ask, and dave and carol approve.
const escalations = `
apiVersion: sallyport.io/v1alpha1
kind: BreakglassEscalation
metadata: {name: emergency-access}
spec:
  allowed: {clusters: ["*-lab"], groups: [developers]}
  approvers: {users: [dave, carol]}
  escalatedGroup: cluster-ops
  requestReason: {mandatory: true, description: the number of the incident}
  podSecurityOverrides: {enabled: true, exemptFactors: [privilegedContainer], namespaceScope: {patterns: [shop]}}
`

// approversInLab are bound to the role that the examples ship.
const approversInLab = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lab-approvers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: breakglass-approver}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dave}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lab-requesters}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: breakglass-requester}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: developers}]
`

// prepareBreakglass applies the roles and the escalation, and takes sessions away
// when the test ends.
func prepareBreakglass(t *testing.T) {
	t.Helper()
	repository, err := lab.Root()
	if err != nil {
		t.Fatal(err)
	}
	roles, err := os.ReadFile(filepath.Join(repository, "examples", "breakglass", "rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unwire(t, func(ctx context.Context) error {
			for _, kind := range []string{"breakglasssessions", "breakglassescalations"} {
				shared.Kubectl(ctx, root, "delete", kind, "--all")
			}
			return nil
		})
	})
	if err := shared.Apply(t.Context(), string(roles)+"---\n"+approversInLab+"---\n"+escalations); err != nil {
		t.Fatal(err)
	}
}

var sessionName = regexp.MustCompile(`BreakglassSession (\S+) is asked for`)

// newBreakglassLab starts a Sallyport with sessions, and wires both doors.
func newBreakglassLab(t *testing.T, args ...string) *workflowLab {
	t.Helper()
	s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{
		Binary: binary, Name: strings.ToLower(t.Name()), Args: append([]string{"--watch-policies", "--cluster-name", "hub-lab"}, args...),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &workflowLab{t, s}
	t.Cleanup(func() {
		unwire(t, func(ctx context.Context) error {
			shared.Kubectl(ctx, root, "delete", "denypolicy", "risk", "--ignore-not-found")
			return nil
		})
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Log())
		}
	})
	prepareBreakglass(t)
	w.apply(root, riskPolicy)
	if err := shared.WireAccess(t.Context(), s, wiring.Authorizer{Everything: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unwire(t, shared.UnwireAccess) })
	// Who may write what into a session is judged at the front door.
	if err := shared.WireAdmission(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unwire(t, shared.UnwireAdmission) })
	w.until(func() lab.Result { return execInto(t, alice, "shop", "privileged") }, false, "too risky")
	return w
}

// TestBreakglass goes through the story at the access door only with kubectl and
// the command line: denied, asked for, approved by another, let in, over, denied.
func TestBreakglass(t *testing.T) {
	w := newBreakglassLab(t)
	const command = "sallyport request session emergency-access --cluster hub-lab --reason"
	secrets := func() lab.Result { return shared.Kubectl(t.Context(), alice, "get", "secrets", "-n", "shop") }
	w.until(func() lab.Result { return execInto(t, alice, "shop", "privileged") }, false, command)
	want(t, secrets(), false, "forbidden")

	w.sallyport(alice, "", false, []string{"the number of the incident"}, "request", "session", "emergency-access", "--cluster", "hub-lab")
	w.sallyport(alice, "", false, []string{"is not for cluster"}, "request", "session", "emergency-access", "--cluster", "elsewhere", "--reason", "INC-1")
	w.sallyport("dave", "", false, []string{"in none of the groups"}, "request", "session", "emergency-access", "--cluster", "hub-lab", "--reason", "INC-1")
	name := w.ask("--for", "15s")
	want(t, execInto(t, alice, "shop", "privileged"), false, command)
	w.sallyport(alice, "", false, []string{"alice is not an approver"}, "approve", "session", name, "--yes")
	w.sallyport("dave", "", false, []string{"there is no terminal"}, "approve", "session", name)
	w.sallyport("dave", "", true, []string{"INC-1234", "cluster-ops, with all its rights", "without counting privilegedContainer; in namespaces shop", "Approved, until"}, "approve", "session", name, "--yes", "--reason", "on the phone")
	w.sallyport("carol", "", false, []string{"already"}, "approve", "session", name, "--yes")

	inside := func() lab.Result { return execInto(t, alice, "shop", "privileged") }
	w.until(inside, true, "inside")
	w.until(secrets, true)
	want(t, execInto(t, alice, "shop", "hostnet"), false, "hostNetwork")
	want(t, execInto(t, bob, "shop", "privileged"), false, "too risky, score 90")
	w.sallyport("carol", "", true, []string{name, "alice", "hub-lab", "dave", "INC-1234"}, "sessions", "--user", alice)

	// The fifteen seconds pass by the clock of the server.
	w.until(inside, false, command)
	w.until(secrets, false, "forbidden")
	w.sallyport("carol", "", true, []string{name, "Expired", "Approved by dave (on the phone)"}, "sessions", "--history")

	t.Run("revoked", func(t *testing.T) {
		w := &workflowLab{t, w.s}
		name := w.ask()
		w.sallyport("carol", "", true, nil, "approve", "session", name, "--yes")
		w.until(inside, true, "inside")
		w.sallyport(alice, "", false, []string{"not an approver"}, "revoke", "session", name)
		w.sallyport("dave", "", true, []string{"is Revoked"}, "revoke", "session", name, "--reason", "over")
		w.until(inside, false, command)
	})
	t.Run("forged", func(t *testing.T) {
		w := &workflowLab{t, w.s}
		w.refused(alice, "create", sessionOf("forged", "bob", ""), "everybody asks for himself")
		// The API server takes no status from whoever makes an object.
		w.apply(alice, sessionOf("forged", alice, `status: {state: Approved, approvedAt: "2026-01-01T00:00:00Z", expiresAt: "2099-01-01T00:00:00Z"}`))
		want(t, inside(), false, command)
		w.sallyport(alice, "", true, nil, "withdraw", "session", "forged")
		name := w.ask()
		patch := func(user, patch string) lab.Result {
			return shared.Kubectl(t.Context(), user, "patch", "breakglasssession", name, "--subresource=status", "--type=merge", "-p", patch)
		}
		want(t, patch(alice, `{"status":{"state":"Approved","approvals":[{"by":"dave","at":"2030-01-01T00:00:00Z"}]}}`), false, "alice is not an approver")
		want(t, patch("dave", `{"status":{"state":"Approved","approvedAt":"2020-01-01T00:00:00Z","expiresAt":"2099-01-01T00:00:00Z"}}`), false, "is not what this step leads to")
		want(t, patch("dave", `{"status":{"approvals":[{"by":"carol","at":"2030-01-01T00:00:00Z"}]}}`), false, "is not what this step leads to")
		want(t, inside(), false, command)
		w.sallyport(alice, "", true, nil, "withdraw", "session", name)
	})
	t.Run("withdrawn", func(t *testing.T) {
		w := &workflowLab{t, w.s}
		name := w.ask()
		w.sallyport("dave", "", false, []string{"only they can withdraw"}, "withdraw", "session", name)
		w.sallyport(alice, "", true, []string{"is Withdrawn"}, "withdraw", "session", name)
		w.sallyport("dave", "", false, []string{"final"}, "approve", "session", name, "--yes")
		want(t, inside(), false, command)
	})
}

// ask asks for a session in the hub as alice, and returns its name.
func (w *workflowLab) ask(more ...string) string {
	w.Helper()
	return w.askFor("hub-lab", more...)
}

// askFor asks for a session in a cluster.
func (w *workflowLab) askFor(cluster string, more ...string) string {
	w.Helper()
	out := w.sallyport(alice, "", true, []string{"It needs one approval, of: dave, carol"}, append([]string{"request", "session", "emergency-access", "--cluster", cluster, "--reason", "INC-1234"}, more...)...)
	found := sessionName.FindStringSubmatch(out)
	if found == nil {
		w.Fatalf("no name of a session:\n%s", out)
	}
	return found[1]
}

// until does something until it comes out in this way.
func (w *workflowLab) until(do func() lab.Result, ok bool, says ...string) {
	w.Helper()
	eventually(w.T, func() string {
		r := do()
		if r.OK() != ok {
			return r.String()
		}
		for _, text := range says {
			if !strings.Contains(r.Stdout+r.Stderr, text) {
				return r.String()
			}
		}
		return ""
	})
}

// sessionOf is a session that somebody writes himself.
func sessionOf(name, user, status string) string {
	return fmt.Sprintf(`
apiVersion: sallyport.io/v1alpha1
kind: BreakglassSession
metadata: {name: %s}
spec: {user: %s, cluster: hub-lab, escalationRef: emergency-access, requestReason: INC-1}
%s
`, name, user, status)
}
