package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

const escalationText = `
apiVersion: sallyport.io/v1alpha1
kind: BreakglassEscalation
metadata: {name: debug, uid: e1}
spec:
  allowed: {clusters: ["prod-*"], groups: [devs]}
  approvers: {users: [dave, erin], groups: [leads]}
  escalatedGroup: debuggers
  maxValidFor: 1h
  approvalTimeout: 1h
`

const sessionText = `
apiVersion: sallyport.io/v1alpha1
kind: BreakglassSession
metadata: {name: s, uid: s1, resourceVersion: "7", creationTimestamp: "2026-11-28T11:30:00Z"}
spec: {cluster: prod-eu, user: carol, escalationRef: debug}
`

// sessionGuard is a Guard of a cluster that holds these objects, with an escalation.
func sessionGuard(t testing.TB, escalation string, objects ...client.Object) *Guard {
	t.Helper()
	if escalation != "" {
		objects = append(objects, parse[v1alpha1.BreakglassEscalation](t, escalation))
	}
	return guardOf(t, nil, objects...)
}

func textOf(t testing.TB, object any) string {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func asking(t testing.TB, user, text string) *request.Request {
	r := written(t, user, text, "")
	r.User.Groups = []string{"devs"}
	return r
}

// TestAskingForASession says who may ask for what.
func TestAskingForASession(t *testing.T) {
	many := func(n int, user string) (list []client.Object) {
		for i := range n {
			list = append(list, &v1alpha1.BreakglassSession{ObjectMeta: metav1.ObjectMeta{Name: user + string(rune('a'+i))}, Spec: v1alpha1.BreakglassSessionSpec{User: user}})
		}
		return list
	}
	over := many(5, "carol")
	for _, o := range over {
		o.(*v1alpha1.BreakglassSession).Status.State = v1alpha1.SessionExpired
	}
	// Fifty that are over, of the last hour; and as many that are older.
	lately, longAgo := make([]client.Object, 0, 50), make([]client.Object, 0, 50)
	for i := range 50 {
		s := &v1alpha1.BreakglassSession{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("o%d", i), CreationTimestamp: metav1.NewTime(noon.Add(-59 * time.Minute))}, Spec: v1alpha1.BreakglassSessionSpec{User: "carol"}}
		s.Status.State = v1alpha1.SessionWithdrawn
		lately = append(lately, s)
		older := s.DeepCopy()
		older.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
		longAgo = append(longAgo, older)
	}
	latelyOf := func(user string) (list []client.Object) {
		for _, o := range lately {
			s := o.DeepCopyObject().(*v1alpha1.BreakglassSession)
			s.Spec.User = user
			list = append(list, s)
		}
		return list
	}
	cases := map[string]struct {
		user, text string
		objects    []client.Object
		says       string
	}{
		"for himself":                {"carol", sessionText, nil, ""},
		"without a user":             {"carol", strings.Replace(sessionText, "user: carol, ", "", 1), nil, ""},
		"for another":                {"mallory", sessionText, nil, "everybody asks for himself"},
		"with a status":              {"carol", sessionText + "status: {state: Approved}\n", nil, "is not for carol to fill in"},
		"without an escalation":      {"carol", strings.Replace(sessionText, "debug", "other", 1), nil, "names no BreakglassEscalation"},
		"for another cluster":        {"carol", strings.Replace(sessionText, "prod-eu", "dev", 1), nil, `is not for cluster "dev"`},
		"for longer":                 {"carol", strings.Replace(sessionText, "user:", "maxValidFor: 2h, user:", 1), nil, "gives at most"},
		"for another group":          {"carol", strings.Replace(sessionText, "user:", "grantedGroup: admins, user:", 1), nil, "spec.grantedGroup"},
		"with one too many":          {"carol", sessionText, many(5, "carol"), "has 5 sessions that are not over"},
		"with too many lately":       {"carol", sessionText, lately, "within an hour"},
		"with too many long ago":     {"carol", sessionText, longAgo, ""},
		"kept for years":             {"carol", strings.Replace(sessionText, "user:", "retainFor: 1825d, user:", 1), nil, ""},
		"kept forever":               {"carol", strings.Replace(sessionText, "user:", "retainFor: 100000d, user:", 1), nil, "spec.retainFor"},
		"with many that are over":    {"carol", sessionText, over, ""},
		"with many of others":        {"carol", sessionText, append(many(5, "erin"), many(2, "dave")...), ""},
		"with many lately of others": {"carol", sessionText, latelyOf("erin"), ""},
		"with too many of anybody":   {"carol", sessionText, append(many(5, "erin"), many(5, "dave")...), "there may be 10 in all"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := sessionGuard(t, escalationText, c.objects...)
			g.Sessions.InAll = 10
			raw, results := admit(t, g, asking(t, c.user, c.text))
			if len(results) != 1 || results[0].Blocks() != (c.says != "") || !strings.Contains(results[0].Message, c.says) {
				t.Fatalf("results %+v", results)
			}
			if c.says == "" && parse[v1alpha1.BreakglassSession](t, raw).Spec.User != c.user {
				t.Errorf("filled in %s", raw)
			}
		})
	}
	g := sessionGuard(t, escalationText)
	if results := g.Validate(t.Context(), asking(t, "carol", strings.Replace(sessionText, "user: carol, ", "", 1))); !results[0].Blocks() {
		t.Error("a session of nobody is let in where nothing is filled in")
	}
	stranger := written(t, "carol", sessionText, "")
	if results := g.Validate(t.Context(), stranger); !results[0].Blocks() || !strings.Contains(results[0].Message, "in none of the groups") {
		t.Errorf("%+v", results)
	}
}

// step is the request by which somebody writes the status that breakglass.Apply
// makes, as the command line does, changed by a test.
func step(t testing.TB, user string, to v1alpha1.SessionState, old *v1alpha1.BreakglassSession, change func(*v1alpha1.BreakglassSession)) *request.Request {
	t.Helper()
	compiled, errs := breakglass.CompileSession(old)
	e, more := breakglass.CompileEscalation(parse[v1alpha1.BreakglassEscalation](t, escalationText))
	if len(errs)+len(more) > 0 {
		t.Fatal(errs, more)
	}
	who := user
	if to == v1alpha1.SessionApproved || to == v1alpha1.SessionRejected {
		// Whoever forges something writes what an approver would.
		who = "dave"
		if user == "erin" {
			who = user
		}
	}
	status, err := breakglass.Apply(compiled, e, breakglass.Step{To: to, By: breakglass.Person{Name: who, Groups: []string{"leads"}}, Reason: "why"}, noon.Add(-30*time.Second))
	if err != nil {
		status = old.Status.DeepCopy()
		status.State = to
	}
	changed := old.DeepCopy()
	changed.Status = *status
	if change != nil {
		change(changed)
	}
	r := written(t, user, textOf(t, changed), textOf(t, old))
	r.Subresource = "status"
	return r
}

// TestSteppingASession says who may write which status.
func TestSteppingASession(t *testing.T) {
	pending := parse[v1alpha1.BreakglassSession](t, sessionText+`status: {state: Pending, requestedBy: carol, requestedAt: "2026-11-28T11:30:00Z"}`)
	late := parse[v1alpha1.BreakglassSession](t, strings.ReplaceAll(sessionText, "11:30", "10:30")+`status: {state: Pending, requestedBy: carol, requestedAt: "2026-11-28T10:30:00Z"}`)
	once := pending.DeepCopy()
	once.Status.Approvals = []v1alpha1.SessionApproval{{By: "dave", At: metav1.NewTime(noon), EscalationVersion: "e1/0"}}
	approved := pending.DeepCopy()
	began, ends := metav1.NewTime(noon.Add(-time.Minute)), metav1.NewTime(noon.Add(59*time.Minute))
	approved.Status.State, approved.Status.ApprovedAt, approved.Status.ExpiresAt = v1alpha1.SessionApproved, &began, &ends
	two := strings.Replace(escalationText, "maxValidFor", "requiredApprovals: 2\n  maxValidFor", 1)
	type change = func(*v1alpha1.BreakglassSession)
	at := metav1.NewTime(noon.Add(9 * time.Hour))
	cases := map[string]struct {
		user       string
		escalation string
		to         v1alpha1.SessionState
		old        *v1alpha1.BreakglassSession
		change     change
		says       string
	}{
		"approved": {"dave", escalationText, "Approved", pending, nil, ""},
		"with a condition": {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) {
			s.Status.Conditions = []metav1.Condition{{Type: breakglass.ConditionBoundToUID, Status: metav1.ConditionTrue}}
		}, "status.conditions"},
		"approved as another":    {"erin", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Status.Approvals[0].By = "dave" }, "status.approvals"},
		"by no approver":         {"mallory", escalationText, "Approved", pending, nil, "is not an approver"},
		"one's own":              {"carol", escalationText, "Approved", pending, nil, "is not an approver"},
		"one's own, an approver": {"carol", strings.Replace(escalationText, "[dave, erin]", "[dave, carol]", 1), "Approved", pending, nil, "nobody approves his own"},
		"after the time-out":     {"dave", escalationText, "Approved", late, nil, "by now, which is final"},
		"twice by the same": {"dave", two, "Approved", once, func(s *v1alpha1.BreakglassSession) {
			s.Status.Approvals = append(s.Status.Approvals, s.Status.Approvals[0])
		}, "has approved BreakglassSession s already"},
		"by the second":              {"erin", two, "Approved", once, nil, ""},
		"the first of two taken":     {"dave", two, "Approved", pending, nil, "is not what this step leads to"},
		"approved, ending later":     {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Status.ExpiresAt = &at }, "status.expiresAt"},
		"approved, begun later":      {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Status.ApprovedAt = &at }, "status.approvedAt"},
		"approved, with other terms": {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Status.Terms.EscalatedGroup = "admins" }, "status.terms"},
		"approved, without terms":    {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Status.Terms = nil }, "status.terms"},
		"approved, with overrides":   {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Status.Approvals[0].Overrides = true }, "status.approvals"},
		"approved, asked by another": {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Status.RequestedBy = "zoe" }, "status.requestedBy"},
		"approved, used already":     {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Status.LastUsedAt = &at }, "status.lastUsedAt"},
		"approved, nobody entered":   {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Status.Entered = []v1alpha1.EnteredPod{{Name: "x"}} }, "status.entered"},
		"approved, told already":     {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Status.Notified = []string{"approved"} }, "status.notified"},
		"approved and changed":       {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Spec.MaxValidFor = "1m" }, "is not changed once"},
		"approved, a forged history": {"dave", escalationText, "Approved", pending, func(s *v1alpha1.BreakglassSession) { s.Status.History[0].By = "erin" }, "status.history"},
		"two approvals at once": {"dave", two, "Approved", pending, func(s *v1alpha1.BreakglassSession) {
			s.Status.Approvals = append(s.Status.Approvals, v1alpha1.SessionApproval{By: "erin", At: metav1.NewTime(noon)})
		}, "is not what this step leads to"},
		"rejected":                   {"dave", escalationText, "Rejected", pending, nil, ""},
		"rejected by no approver":    {"mallory", escalationText, "Rejected", pending, nil, "is not an approver"},
		"withdrawn":                  {"carol", escalationText, "Withdrawn", pending, nil, ""},
		"revoked without escalation": {"dave", "", "Revoked", approved, nil, "by now, which is final"},
		"withdrawn by another":       {"dave", escalationText, "Withdrawn", pending, nil, "and only they can withdraw it"},
		"revoked":                    {"dave", escalationText, "Revoked", approved, nil, ""},
		"revoked by whoever has it":  {"carol", escalationText, "Revoked", approved, nil, "is not an approver"},
		"expired by a user":          {"dave", escalationText, "Expired", approved, nil, "nobody can make it"},
		"put back":                   {"carol", escalationText, "Pending", approved, nil, "nobody can make it"},
		"longer, nothing else":       {"carol", escalationText, "Approved", approved, func(s *v1alpha1.BreakglassSession) { s.Status.ExpiresAt = &at }, "is Approved already"},
		"used later, nothing else":   {"carol", escalationText, "Approved", approved, func(s *v1alpha1.BreakglassSession) { s.Status.LastUsedAt = &at }, "is Approved already"},
		"approved by Sallyport":      {own, escalationText, "Approved", pending, nil, "comes of what people answer"},
		"expired by Sallyport":       {own, escalationText, "Expired", approved, nil, ""},
		"rejected by Sallyport":      {own, escalationText, "Rejected", pending, nil, "time alone does not make"},
		"used, by Sallyport":         {own, escalationText, "Approved", approved, func(s *v1alpha1.BreakglassSession) { s.Status.LastUsedAt = &at }, ""},
		"longer, by Sallyport":       {own, escalationText, "Approved", approved, func(s *v1alpha1.BreakglassSession) { s.Status.ExpiresAt = &at }, "comes of what people answer"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := sessionGuard(t, c.escalation)
			r := step(t, c.user, c.to, c.old, c.change)
			straight := g.Validate(t.Context(), r)
			raw, results := admit(t, g, r)
			for _, result := range []decision.Result{straight[0], results[0]} {
				if got := result.Message + " " + textOf(t, result.Findings); !strings.Contains(got, c.says) {
					t.Errorf("says %s", got)
				}
			}
			if straight[0].Blocks() != (c.says != "") || results[0].Blocks() != (c.says != "") {
				t.Fatalf("%+v\n%+v", straight, results)
			}
			if c.says == "" && c.user != own && c.to == v1alpha1.SessionApproved {
				s := parse[v1alpha1.BreakglassSession](t, raw)
				if last := s.Status.Approvals[len(s.Status.Approvals)-1]; last.By != c.user || !last.At.Time.Equal(noon) {
					t.Errorf("approved %+v", last)
				}
			}
		})
	}
}

// TestUpdatesAndRemovals keeps what was asked for, and the record of it.
func TestUpdatesAndRemovals(t *testing.T) {
	g := sessionGuard(t, escalationText)
	for name, c := range map[string]struct {
		from, to string
		ok       bool
	}{
		"labels": {"uid: s1", "uid: s1, labels: {a: b}", true},
		"a spec": {"prod-eu", "prod-us", false},
		"a user": {"user: carol", "user: dave", false},
	} {
		r := written(t, "carol", strings.Replace(sessionText, c.from, c.to, 1), sessionText)
		if results := g.Validate(t.Context(), r); results[0].Blocks() == c.ok {
			t.Errorf("%s: %+v", name, results)
		}
	}
	riding := written(t, "carol", sessionText+"status: {state: Approved}\n", sessionText)
	if results := g.Validate(t.Context(), riding); !results[0].Blocks() {
		t.Error("a status rides along")
	}
	for status, ok := range map[string]bool{
		`{state: Revoked}`: true, `{}`: true, `{state: Pending}`: true, `{state: Approved}`: false, `{state: WaitingForScheduledTime}`: false,
		`{state: Revoked, retainedUntil: "2026-11-28T12:00:01Z"}`: false, `{state: Revoked, retainedUntil: "2026-11-28T12:00:00Z"}`: true,
	} {
		r := written(t, "root", sessionText+"status: "+status+"\n", "")
		r.Operation, r.Object, r.OldObject = request.Delete, nil, r.Object
		if results := g.Validate(t.Context(), r); len(results) != 1 || results[0].Blocks() == ok {
			t.Errorf("%s: %+v", status, results)
		}
		kind := r.OldObject.GVK
		r.OldObject, r.Kind = nil, kind
		if results := g.Validate(t.Context(), r); len(results) != 1 || !results[0].Blocks() {
			t.Errorf("what is not known is deleted: %+v", results)
		}
	}
}

// TestManyApproversAtOnce has two approvals needed and many that come at once. The
// API server takes each write for what it was computed from; whoever is late reads
// again. Nobody counts twice, and nothing is lost.
func TestManyApproversAtOnce(t *testing.T) {
	two := parse[v1alpha1.BreakglassEscalation](t, strings.Replace(escalationText, "maxValidFor", "requiredApprovals: 2\n  maxValidFor", 1))
	pending := parse[v1alpha1.BreakglassSession](t, sessionText+`status: {state: Pending, requestedBy: carol, requestedAt: "2026-11-28T11:30:00Z"}`)
	api := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(two, pending).WithStatusSubresource(pending).Build()
	g := guardOf(t, nil)
	g.Reader = api
	e, _ := breakglass.CompileEscalation(two)
	var taken atomic.Int32
	var wait sync.WaitGroup
	for i := range 24 {
		user := []string{"dave", "erin"}[i%2]
		wait.Go(func() {
			for range 50 {
				read := &v1alpha1.BreakglassSession{}
				if err := api.Get(t.Context(), client.ObjectKey{Name: "s"}, read); err != nil {
					t.Error(err)
					return
				}
				compiled, _ := breakglass.CompileSession(read)
				status, err := breakglass.Apply(compiled, e, breakglass.Step{To: v1alpha1.SessionApproved, By: breakglass.Person{Name: user}}, noon)
				if err != nil {
					return
				}
				changed := read.DeepCopy()
				changed.Status = *status
				changed.APIVersion, changed.Kind = v1alpha1.GroupVersion.String(), breakglass.KindSession
				read.APIVersion, read.Kind = changed.APIVersion, changed.Kind
				r := written(t, user, textOf(t, changed), textOf(t, read))
				r.Subresource = "status"
				if results := g.Validate(t.Context(), r); results[0].Blocks() {
					t.Errorf("%s: %+v", user, results)
					return
				}
				if api.Status().Update(t.Context(), changed) == nil {
					taken.Add(1)
					return
				}
			}
		})
	}
	wait.Wait()
	s := &v1alpha1.BreakglassSession{}
	if err := errors.Join(api.Get(t.Context(), client.ObjectKey{Name: "s"}, s)); err != nil {
		t.Fatal(err)
	}
	if s.Status.State != v1alpha1.SessionApproved || len(s.Status.Approvals) != 2 || s.Status.Approvals[0].By == s.Status.Approvals[1].By || taken.Load() != 2 {
		t.Errorf("%d were accepted: %+v", taken.Load(), s.Status)
	}
}
