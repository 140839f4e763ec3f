package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/config/wiring"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/test/lab"
)

// breakglassObjects let developers ask and dave approve, for some seconds. Sallyport
// may evict.
const breakglassObjects = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: breakglass-user}
rules:
- {apiGroups: [sallyport.io], resources: [breakglasssessions, breakglasssessions/status], verbs: ["*"]}
- {apiGroups: [sallyport.io], resources: [breakglassescalations], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: breakglass-users}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: breakglass-user}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: dave}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: sallyport-after-use}
rules:
- {apiGroups: [""], resources: [pods/eviction], verbs: [create]}
- {apiGroups: [""], resources: [pods], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: sallyport-after-use}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sallyport-after-use}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: USER}]
---
apiVersion: sallyport.io/v1alpha1
kind: BreakglassEscalation
metadata: {name: debug}
spec:
  allowed: {clusters: ["prod-*"], groups: [developers]}
  approvers: {users: [dave]}
  maxValidFor: 8s
  podSecurityOverrides: {enabled: true, maxAllowedScore: 500}
  afterUse: {action: evict}
`

// listener takes notifications, and keeps their types by session.
type listener struct {
	*httptest.Server
	mu  sync.Mutex
	got []string
}

func newListener(t *testing.T) *listener {
	l := &listener{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event struct {
			Type string `json:"type"`
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &event)
		}
		if err != nil {
			t.Error(err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.got = append(l.got, event.Type)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) types() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	sorted := slices.Clone(l.got)
	slices.Sort(sorted)
	return strings.Join(sorted, " ")
}

// answerSession takes a step of a session as the command line does.
func answerSession(ctx context.Context, c client.Client, user, session string, to v1alpha1.SessionState) error {
	s, e := &v1alpha1.BreakglassSession{}, &v1alpha1.BreakglassEscalation{}
	if err := c.Get(ctx, client.ObjectKey{Name: session}, s); err != nil {
		return err
	}
	if err := c.Get(ctx, client.ObjectKey{Name: s.Spec.EscalationRef}, e); err != nil {
		return err
	}
	compiled, errs := breakglass.CompileSession(s)
	escalation, more := breakglass.CompileEscalation(e)
	if len(errs)+len(more) > 0 {
		return fmt.Errorf("%v %v", errs, more)
	}
	status, err := breakglass.Apply(compiled, escalation, breakglass.Step{To: to, By: breakglass.Person{Name: user}, Reason: "fine"}, metav1.Now().Time)
	if err != nil {
		return err
	}
	changed := s.DeepCopy()
	changed.Status = *status
	return c.Status().Patch(ctx, changed, client.MergeFromWithOptions(s, client.MergeFromWithOptimisticLock{}))
}

// TestBreakglassControllers has alice denied, asking, approved, let in and denied
// again, while the replica that writes is killed; what she entered is evicted once.
func TestBreakglassControllers(t *testing.T) {
	told := newListener(t)
	config := filepath.Join(t.TempDir(), "notify.yaml")
	if err := os.WriteFile(config, []byte("targets: [{name: test, url: \""+told.URL+"\"}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shared.Apply(t.Context(), lab.SallyportLeases("shop")); err != nil {
		t.Fatal(err)
	}
	start := func(name string) *lab.Sallyport {
		s, err := shared.StartSallyport(t.Context(), lab.SallyportOptions{Binary: binary, Name: name, Args: []string{
			"--watch-policies", "--cluster-name", "prod-lab", "--notify-config", config, "--leader-election-namespace", "shop",
			"--audit-log", filepath.Join(filepath.Dir(config), name+".jsonl"),
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			s.Kill()
			if t.Failed() {
				t.Log(name, s.Log())
			}
		})
		return s
	}
	leader := start("breakglass-leader")
	eventually(t, func() string {
		if log := leader.Log(); !strings.Contains(log, "this replica leads") {
			return log
		}
		return ""
	})
	other := start("breakglass-other")
	t.Cleanup(func() {
		unwire(t, shared.UnwireAccess)
		unwire(t, shared.UnwireAdmission)
		ctx := context.WithoutCancel(t.Context())
		for _, kind := range []string{"breakglasssessions", "breakglassescalations", "denypolicies"} {
			shared.Kubectl(ctx, root, "delete", kind, "--all", "--ignore-not-found")
		}
		shared.Kubectl(ctx, root, "delete", "pod", "-n", "shop", "victim", "--ignore-not-found", "--grace-period=0", "--force")
	})
	feed := func(user, manifest string, args ...string) lab.Result {
		return shared.Run(t.Context(), lab.Kubectl{User: user, Args: append(args, "-f", "-"), Stdin: strings.NewReader(manifest)})
	}
	const victim = `
apiVersion: v1
kind: Pod
metadata: {name: victim, namespace: shop}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: app, image: registry.example.com/tool:1, securityContext: {privileged: true}}]}
`
	want(t, feed(root, strings.Replace(breakglassObjects, "USER", lab.SallyportUser, 1)+"---\n"+riskPolicy+"---\n"+victim, "apply"), true)
	if err := shared.AwaitRunning(t.Context(), "shop", "victim"); err != nil {
		t.Fatal(err)
	}
	if err := shared.WireAdmission(t.Context(), other, nil); err != nil {
		t.Fatal(err)
	}
	if err := shared.WireAccess(t.Context(), other, wiring.Authorizer{Everything: true}); err != nil {
		t.Fatal(err)
	}
	exec := func() lab.Result {
		return shared.Kubectl(t.Context(), alice, "exec", "-n", "shop", "victim", "--", "true")
	}
	eventually(t, func() string {
		if r := exec(); r.OK() || !strings.Contains(r.Stderr, "sallyport request session debug") {
			return r.String()
		}
		return ""
	})

	const session = "apiVersion: sallyport.io/v1alpha1\nkind: BreakglassSession\nmetadata: {name: s}\nspec: {cluster: prod-lab, user: WHO, escalationRef: debug}\n"
	want(t, feed("carol", strings.Replace(session, "WHO", alice, 1), "create"), false, "everybody asks for himself")
	want(t, feed("carol", strings.Replace(session, "WHO", "carol", 1), "create"), false, "in none of the groups")
	want(t, feed(alice, strings.Replace(session, "user: WHO, ", "", 1), "create"), true)
	if err := answerSession(t.Context(), clientOf(t, alice), "dave", "s", v1alpha1.SessionApproved); err == nil || !strings.Contains(err.Error(), "is not an approver") {
		t.Errorf("alice approves as dave: %v", err)
	}
	eventually(t, func() string { return differs("asked", told.types()) })
	if err := answerSession(t.Context(), clientOf(t, "dave"), "dave", "s", v1alpha1.SessionApproved); err != nil {
		t.Fatal(err)
	}
	entered := ""
	eventually(t, func() string {
		r := exec()
		if entered = r.String(); !r.OK() {
			return entered
		}
		return ""
	})
	want(t, shared.Kubectl(t.Context(), root, "delete", "breakglasssession", "s"), false, "it is revoked or withdrawn")
	eventually(t, func() string { return differs("approved asked", told.types()) })
	leader.Kill()
	state := func(path string) string {
		return shared.Kubectl(t.Context(), root, "get", "breakglasssession", "s", "-o", "jsonpath={.status."+path+"}").Stdout
	}
	eventually(t, func() string {
		if r := exec(); r.OK() || !strings.Contains(r.Stderr, "too risky") {
			return r.String()
		}
		return ""
	})
	eventually(t, func() string { return differs("evicted", state("entered[*].afterUse")) })
	if got := state("state"); got != string(v1alpha1.SessionExpired) {
		t.Errorf("state %s", got)
	}
	eventually(t, func() string { return differs("approved asked ended", told.types()) })
	eventually(t, func() string {
		return differs("", shared.Kubectl(t.Context(), root, "get", "pod", "-n", "shop", "victim", "--ignore-not-found", "-o", "name").Stdout)
	})
	// Another pod of that name is not touched, by whichever replica looks next.
	want(t, feed(root, victim, "create"), true)
	second := start("breakglass-second")
	if err := other.Stop(); err != nil {
		t.Error(err)
	}
	eventually(t, func() string {
		if log := second.Log(); !strings.Contains(log, "this replica leads") {
			return log
		}
		return ""
	})
	want(t, shared.Kubectl(t.Context(), root, "get", "pod", "-n", "shop", "victim"), true)
	if got := told.types(); got != "approved asked ended" {
		t.Errorf("told %s", got)
	}
}

// differs says what is otherwise; empty if nothing is.
func differs(want, got string) string {
	if want == got {
		return ""
	}
	return fmt.Sprintf("%q, want %q", got, want)
}
