package breakglass_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cluster"
)

// noonInTests is when commands about sessions run in tests.
var noonInTests = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

const escalationInTests = `
metadata: {name: emergency-access, uid: e1}
spec:
  allowed: {clusters: ["prod-*"], groups: [on-call]}
  approvers: {users: [bob], groups: [leads]}
  escalatedGroup: cluster-ops
  maxValidFor: 1h
  idleTimeout: 15m
  requestReason: {mandatory: true, description: the number of the incident}
  denyPolicyRefs: [no-secrets-by-hand]
  podSecurityOverrides: {enabled: true, maxAllowedScore: 150, exemptFactors: [privilegedContainer], namespaceScope: {patterns: ["shop"]}, requireApproval: true, approvers: {groups: [security]}}
  afterUse: {action: mark}
`

func object[T any](t *testing.T, text string) *T {
	t.Helper()
	into := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
	return into
}

func inMinutes(n int) string {
	return noonInTests.Add(time.Duration(n) * time.Minute).Format(time.RFC3339)
}

// sessionInTests is one that alice asked for five minutes ago.
func sessionInTests(t *testing.T, status string) *v1alpha1.BreakglassSession {
	t.Helper()
	return object[v1alpha1.BreakglassSession](t, fmt.Sprintf(`
metadata: {name: emergency-access-1, uid: s1, creationTimestamp: %q}
spec: {cluster: prod-eu, user: alice, escalationRef: emergency-access, requestReason: INC-1234}
status: %s
`, inMinutes(-5), status))
}

var pendingInTests = fmt.Sprintf(`{state: Pending, requestedBy: alice, requestedAt: %q, history: [{state: Pending, at: %q, by: alice, reason: INC-1234}]}`, inMinutes(-5), inMinutes(-5))

var approvedInTests = fmt.Sprintf(`{state: Approved, requestedBy: alice, requestedAt: %q, approvedAt: %q, expiresAt: %q, approvals: [{by: bob, at: %q, reason: fine}],
  history: [{state: Pending, at: %q, by: alice, reason: INC-1234}, {state: Approved, at: %q, by: bob, reason: fine}], lastUsedAt: %q,
  entered: [{namespace: shop, name: web-0, first: %q, last: %q}]}`, inMinutes(-5), inMinutes(-4), inMinutes(56), inMinutes(-4), inMinutes(-5), inMinutes(-4), inMinutes(-1), inMinutes(-3), inMinutes(-1))

// hub is a cluster that keeps sessions, and knows by which name somebody works.
func hub(t *testing.T, me authenticationv1.UserInfo, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme, err := cluster.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.BreakglassSession{}).Build()
	return as(c, me)
}

// as is a cluster that knows somebody by another name.
func as(c client.WithWatch, me authenticationv1.UserInfo) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if review, ok := o.(*authenticationv1.SelfSubjectReview); ok {
				review.Status.UserInfo = me
				return nil
			}
			return c.Create(ctx, o, options...)
		},
	})
}

// onHub runs a command as somebody.
func onHub(t *testing.T, c client.WithWatch, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = cli.Main(t.Context(), args, command.Streams{
		In: strings.NewReader(""), Out: &stdout, Err: &stderr, Cluster: c, Clock: func() time.Time { return noonInTests },
	})
	return status, stdout.String(), stderr.String()
}

var (
	aliceInTests = authenticationv1.UserInfo{Username: "alice", Groups: []string{"on-call", "system:authenticated"}}
	bobInTests   = authenticationv1.UserInfo{Username: "bob", Groups: []string{"system:authenticated"}}
)

func TestRequestSession(t *testing.T) {
	reason := []string{"--cluster", "prod-eu", "--reason", "INC-1"}
	cases := map[string]struct {
		me     authenticationv1.UserInfo
		args   []string
		status int
		says   string
		made   *v1alpha1.BreakglassSessionSpec
	}{
		"in short": {aliceInTests, reason, 0, "It needs one approval, of: bob, group leads",
			&v1alpha1.BreakglassSessionSpec{Cluster: "prod-eu", User: "alice", EscalationRef: "emergency-access", RequestReason: "INC-1"}},
		"with all": {aliceInTests, append([]string{"--for", "30m", "--idle", "10m", "--group", "cluster-ops", "--at", inMinutes(60)}, reason...), 0, "sallyport approve session emergency-access-",
			&v1alpha1.BreakglassSessionSpec{Cluster: "prod-eu", User: "alice", EscalationRef: "emergency-access", RequestReason: "INC-1", MaxValidFor: "30m", IdleTimeout: "10m", GrantedGroup: "cluster-ops",
				ScheduledStartTime: &metav1.Time{Time: noonInTests.Add(time.Hour)}}},
		"without a cluster":      {aliceInTests, []string{"--reason", "x"}, 2, "--cluster is missing", nil},
		"without a reason":       {aliceInTests, []string{"--cluster", "prod-eu"}, 2, "the number of the incident", nil},
		"another cluster":        {aliceInTests, []string{"--cluster", "dev", "--reason", "x"}, 2, `is not for cluster "dev"; it is for prod-*`, nil},
		"somebody else":          {bobInTests, reason, 2, "bob is in none of the groups that may ask", nil},
		"for too long":           {aliceInTests, append([]string{"--for", "2h"}, reason...), 2, "gives at most 1h", nil},
		"another group":          {aliceInTests, append([]string{"--group", "system:masters"}, reason...), 2, "system:masters is given to nobody", nil},
		"no duration":            {aliceInTests, append([]string{"--for", "soon"}, reason...), 2, "--for", nil},
		"no time":                {aliceInTests, append([]string{"--at", "soon"}, reason...), 2, "--at is \"soon\"", nil},
		"no pod":                 {aliceInTests, append([]string{"--for-exec", "shop/web;ls"}, reason...), 2, "NAMESPACE/POD is expected", nil},
		"a time without waiting": {aliceInTests, append([]string{"--timeout", "1m"}, reason...), 2, "give --wait", nil},
		"waiting for too long":   {aliceInTests, append([]string{"--wait", "--timeout", "1ms"}, reason...), 1, "no answer after 1ms, and still stands", &v1alpha1.BreakglassSessionSpec{Cluster: "prod-eu", User: "alice", EscalationRef: "emergency-access", RequestReason: "INC-1"}},
		"nobody":                 {authenticationv1.UserInfo{}, reason, 2, "did not say who you are", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := hub(t, c.me, object[v1alpha1.BreakglassEscalation](t, escalationInTests))
			status, out, errs := onHub(t, h, append([]string{"request", "session", "emergency-access"}, c.args...)...)
			if status != c.status || !strings.Contains(out+errs, c.says) {
				t.Fatalf("status %d: %s%s", status, out, errs)
			}
			var list v1alpha1.BreakglassSessionList
			if err := h.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			if len(list.Items) == 0 && c.made == nil {
				return
			}
			if len(list.Items) != 1 || c.made == nil {
				t.Fatalf("made %+v", list.Items)
			}
			got, _ := yaml.Marshal(list.Items[0].Spec)
			want, _ := yaml.Marshal(c.made)
			if string(got) != string(want) {
				t.Errorf("made:\n%s\nwant:\n%s", got, want)
			}
		})
	}
	status, _, errs := onHub(t, hub(t, aliceInTests, object[v1alpha1.BreakglassEscalation](t, escalationInTests)), append([]string{"request", "session", "emergency"}, reason...)...)
	if status != 2 || !strings.Contains(errs, `no BreakglassEscalation "emergency"; there are: emergency-access`) {
		t.Errorf("status %d: %s", status, errs)
	}
}

func TestSessionAnswers(t *testing.T) {
	carol := authenticationv1.UserInfo{Username: "carol", Groups: []string{"leads", "security"}}
	cases := map[string]struct {
		me     authenticationv1.UserInfo
		was    string
		args   []string
		status int
		says   string
		is     v1alpha1.SessionState
	}{
		"approved":                  {bobInTests, pendingInTests, []string{"approve", "session", "emergency-access-1", "--yes", "--reason", "fine"}, 0, "Approved, until " + inMinutes(60), "Approved"},
		"shown before":              {bobInTests, pendingInTests, []string{"approve", "session", "emergency-access-1", "-y"}, 0, "cluster-ops, with all its rights", "Approved"},
		"overrides not by him":      {bobInTests, pendingInTests, []string{"approve", "session", "emergency-access-1", "-y"}, 0, "in namespaces shop; but not by your approval", "Approved"},
		"overrides by her":          {carol, pendingInTests, []string{"approve", "session", "emergency-access-1", "-y"}, 0, "without counting privilegedContainer; in namespaces shop\n", "Approved"},
		"before it was written":     {bobInTests, "{}", []string{"approve", "session", "emergency-access-1", "-y"}, 0, "Approved", "Approved"},
		"nobody to ask":             {bobInTests, pendingInTests, []string{"approve", "session", "emergency-access-1"}, 2, "there is no terminal", "Pending"},
		"by who asked":              {aliceInTests, pendingInTests, []string{"approve", "session", "emergency-access-1", "-y"}, 2, "alice is not an approver", "Pending"},
		"approved already":          {bobInTests, approvedInTests, []string{"approve", "session", "emergency-access-1", "-y"}, 2, "is Approved already", "Approved"},
		"denied":                    {bobInTests, pendingInTests, []string{"deny", "session", "emergency-access-1", "-y", "--reason", "no"}, 0, "emergency-access-1 is Rejected.", "Rejected"},
		"denied too late":           {bobInTests, approvedInTests, []string{"deny", "session", "emergency-access-1", "-y"}, 2, "is revoked, and not rejected", "Approved"},
		"withdrawn":                 {aliceInTests, approvedInTests, []string{"withdraw", "session", "emergency-access-1"}, 0, "is Withdrawn", "Withdrawn"},
		"withdrawn by another":      {bobInTests, approvedInTests, []string{"withdraw", "session", "emergency-access-1"}, 2, "only they can withdraw", "Approved"},
		"revoked":                   {bobInTests, approvedInTests, []string{"revoke", "session", "emergency-access-1", "--reason", "over"}, 0, "is Revoked", "Revoked"},
		"revoked too early":         {bobInTests, pendingInTests, []string{"revoke", "session", "emergency-access-1"}, 2, "can be rejected, and not revoked", "Pending"},
		"not there":                 {bobInTests, pendingInTests, []string{"approve", "session", "other", "-y"}, 2, "not found", "Pending"},
		"no name":                   {bobInTests, pendingInTests, []string{"approve", "session"}, 2, "sallyport approve exception session", "Pending"},
		"no noun":                   {bobInTests, pendingInTests, []string{"revoke", "emergency-access-1"}, 2, "there is no command", "Pending"},
		"an exception of that name": {bobInTests, pendingInTests, []string{"approve", "exception", "session", "-y"}, 2, "the request cannot be read", "Pending"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := hub(t, c.me, object[v1alpha1.BreakglassEscalation](t, escalationInTests), sessionInTests(t, c.was))
			status, out, errs := onHub(t, h, c.args...)
			if status != c.status || !strings.Contains(out+errs, c.says) {
				t.Fatalf("status %d: %s%s", status, out, errs)
			}
			var s v1alpha1.BreakglassSession
			if err := h.Get(t.Context(), client.ObjectKey{Name: "emergency-access-1"}, &s); err != nil {
				t.Fatal(err)
			}
			if s.Status.State != c.is {
				t.Errorf("it is %q, want %q", s.Status.State, c.is)
			}
		})
	}
}

// TestWithdrawWithoutEscalation takes back what is asked for by an escalation that
// is gone, or cannot work any more.
func TestWithdrawWithoutEscalation(t *testing.T) {
	wrong := object[v1alpha1.BreakglassEscalation](t, escalationInTests)
	wrong.Spec.MaxValidFor = "soon"
	for name, objects := range map[string][]client.Object{"gone": nil, "wrong": {wrong}} {
		t.Run(name, func(t *testing.T) {
			h := hub(t, aliceInTests, append(objects, sessionInTests(t, pendingInTests))...)
			if status, out, errs := onHub(t, h, "withdraw", "session", "emergency-access-1"); status != 0 || !strings.Contains(out, "is Withdrawn") {
				t.Errorf("status %d: %s%s", status, out, errs)
			}
			h = hub(t, bobInTests, append(objects, sessionInTests(t, pendingInTests))...)
			if status, out, errs := onHub(t, h, "approve", "session", "emergency-access-1", "-y"); status != 2 {
				t.Errorf("status %d: %s%s", status, out, errs)
			}
		})
	}
}

// TestSessionChangedMeanwhile answers nothing but what was shown.
func TestSessionChangedMeanwhile(t *testing.T) {
	h := hub(t, bobInTests, object[v1alpha1.BreakglassEscalation](t, escalationInTests), sessionInTests(t, pendingInTests))
	raced := interceptor.NewClient(h, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			other := sessionInTests(t, "{}")
			if err := h.Get(ctx, client.ObjectKeyFromObject(other), other); err != nil {
				return err
			}
			other.Status.State = v1alpha1.SessionWithdrawn
			if err := h.Status().Update(ctx, other); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, patch, options...)
		},
	})
	if status, out, errs := onHub(t, raced, "approve", "session", "emergency-access-1", "-y"); status != 2 || !strings.Contains(errs, "has changed since it was read") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}
