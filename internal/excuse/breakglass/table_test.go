package breakglass

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func at(t time.Time) *metav1.Time { m := metav1.NewTime(t); return &m }

// escalationOf compiles an escalation that a test changes.
func escalationOf(t testing.TB, change func(*v1alpha1.BreakglassEscalationSpec)) *Escalation {
	t.Helper()
	e := &v1alpha1.BreakglassEscalation{ObjectMeta: metav1.ObjectMeta{Name: "debug", UID: "e1"}, Spec: v1alpha1.BreakglassEscalationSpec{
		Allowed:   v1alpha1.EscalationAllowed{Clusters: []string{"prod-*"}, Groups: []string{"devs"}},
		Approvers: v1alpha1.EscalationApprovers{Users: []string{"dave", "erin"}}, EscalatedGroup: "debuggers",
		MaxValidFor: "1h", IdleTimeout: "30m", ApprovalTimeout: "2h", RetainFor: "7d",
	}}
	if change != nil {
		change(&e.Spec)
	}
	c, errs := CompileEscalation(e)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return c
}

// sessionOf compiles a session of carol that a test changes.
func sessionOf(t testing.TB, change func(*v1alpha1.BreakglassSession)) *Session {
	t.Helper()
	s := &v1alpha1.BreakglassSession{
		ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "s1", CreationTimestamp: metav1.NewTime(noon)},
		Spec:       v1alpha1.BreakglassSessionSpec{Cluster: "prod-eu", User: "carol", EscalationRef: "debug"},
	}
	if change != nil {
		change(s)
	}
	c, errs := CompileSession(s)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return c
}

// inState is a session in a state, approved at noon where it was.
func inState(t testing.TB, state v1alpha1.SessionState) *Session {
	return sessionOf(t, func(s *v1alpha1.BreakglassSession) {
		s.Status.State = state
		if state != "" {
			s.Status.RequestedAt, s.Status.RequestedBy = at(noon), "carol"
		}
		switch state {
		case v1alpha1.SessionWaiting:
			s.Spec.ScheduledStartTime = at(noon.Add(10 * time.Minute))
			s.Status.ApprovedAt, s.Status.ExpiresAt = at(noon), at(noon.Add(70*time.Minute))
		case v1alpha1.SessionApproved:
			s.Status.ApprovedAt, s.Status.ExpiresAt = at(noon), at(noon.Add(time.Hour))
		}
		if Final(state) {
			s.Status.EndedAt = at(noon)
		}
	})
}

// TestEveryStateAndEvent tries each event in each state. What is not listed is
// refused, or changes nothing.
func TestEveryStateAndEvent(t *testing.T) {
	const (
		pending, approved, waiting = v1alpha1.SessionPending, v1alpha1.SessionApproved, v1alpha1.SessionWaiting
		rejected, withdrawn        = v1alpha1.SessionRejected, v1alpha1.SessionWithdrawn
		revoked, timeout, expired  = v1alpha1.SessionRevoked, v1alpha1.SessionApprovalTimeout, v1alpha1.SessionExpired
		idle                       = v1alpha1.SessionIdleExpired
	)
	steps := map[string]Step{}
	for _, to := range append([]v1alpha1.SessionState{"", "Nonsense"}, states...) {
		for _, who := range []string{"carol", "dave", "mallory"} {
			steps[fmt.Sprintf("%s by %s", to, who)] = Step{To: to, By: Person{Name: who}}
		}
	}
	ticks := map[string]time.Duration{"soon": time.Minute, "scheduled": 15 * time.Minute, "idle": 31 * time.Minute, "over": 71 * time.Minute, "timeout": 2 * time.Hour}
	want := map[v1alpha1.SessionState]map[string]v1alpha1.SessionState{
		"": {
			"Approved by dave": approved, "Rejected by dave": rejected, "Withdrawn by carol": withdrawn,
			"soon": pending, "scheduled": pending, "idle": pending, "over": pending, "timeout": pending,
		},
		pending:  {"Approved by dave": approved, "Rejected by dave": rejected, "Withdrawn by carol": withdrawn, "timeout": timeout},
		waiting:  {"Revoked by dave": revoked, "Withdrawn by carol": withdrawn, "scheduled": approved, "idle": approved, "over": expired, "timeout": expired},
		approved: {"Revoked by dave": revoked, "Withdrawn by carol": withdrawn, "idle": idle, "over": expired, "timeout": expired},
	}
	e := escalationOf(t, nil)
	for _, from := range append([]v1alpha1.SessionState{""}, states...) {
		for name, step := range steps {
			status, err := Apply(inState(t, from), e, step, noon.Add(time.Minute))
			to, ok := want[from][name]
			switch {
			case ok && (err != nil || status.State != to):
				t.Errorf("%q, %s: %+v, %v; want %s", from, name, status, err, to)
			case !ok && err == nil:
				t.Errorf("%q, %s: leads to %s, and should be refused", from, name, status.State)
			case Final(from) && !strings.HasSuffix(err.Error(), "is "+string(from)+", which is final"):
				t.Errorf("%q, %s: %v", from, name, err)
			}
			if err == nil {
				last := status.History[len(status.History)-1]
				if last.State != to || last.By != step.By.Name || !last.At.Time.Equal(noon.Add(time.Minute)) {
					t.Errorf("%q, %s: history ends with %+v", from, name, last)
				}
				if Final(to) != (status.EndedAt != nil && status.RetainedUntil != nil) {
					t.Errorf("%q, %s: ended %v, kept until %v", from, name, status.EndedAt, status.RetainedUntil)
				}
			}
		}
		for name, after := range ticks {
			status, changed := Tick(inState(t, from), e, time.Time{}, noon.Add(after))
			to, ok := want[from][name]
			if changed != ok || ok && status.State != to {
				t.Errorf("%q, %s: %s (changed: %t), want %q", from, name, status.State, changed, to)
			}
		}
	}
}

// TestSteps tries what may not be done, and what it is told.
func TestSteps(t *testing.T) {
	two := int32(2)
	cases := map[string]struct {
		escalation func(*v1alpha1.BreakglassEscalationSpec)
		session    func(*v1alpha1.BreakglassSession)
		step       Step
		after      time.Duration
		says       string
	}{
		"no approver":          {nil, nil, Step{To: "Approved", By: Person{Name: "mallory"}}, 0, "is not an approver"},
		"a group of approvers": {func(s *v1alpha1.BreakglassEscalationSpec) { s.Approvers.Groups = []string{"leads"} }, nil, Step{To: "Approved", By: Person{Name: "zoe", Groups: []string{"leads"}}}, 0, ""},
		"another group":        {func(s *v1alpha1.BreakglassEscalationSpec) { s.Approvers.Groups = []string{"leads"} }, nil, Step{To: "Approved", By: Person{Name: "zoe", Groups: []string{"Leads"}}}, 0, "is not an approver"},
		"one's own":            {func(s *v1alpha1.BreakglassEscalationSpec) { s.Approvers.Users = []string{"carol"} }, nil, Step{To: "Approved", By: Person{Name: "carol"}}, 0, "nobody approves his own"},
		"one's own, allowed": {func(s *v1alpha1.BreakglassEscalationSpec) {
			s.Approvers.Users, s.AllowSelfApproval = []string{"carol"}, true
		}, nil, Step{To: "Approved", By: Person{Name: "carol"}}, 0, ""},
		"one's own, no approver": {func(s *v1alpha1.BreakglassEscalationSpec) { s.AllowSelfApproval = true }, nil, Step{To: "Approved", By: Person{Name: "carol"}}, 0, "is not an approver"},
		"being deleted": {nil, func(s *v1alpha1.BreakglassSession) {
			s.DeletionTimestamp, s.Finalizers = at(noon), []string{"example.com/kept"}
		}, Step{To: "Approved", By: Person{Name: "dave"}}, 0, "is being deleted"},
		"after the time-out":       {nil, nil, Step{To: "Approved", By: Person{Name: "dave"}}, 2 * time.Hour, "is ApprovalTimeout by now"},
		"just before the time-out": {nil, nil, Step{To: "Approved", By: Person{Name: "dave"}}, 2*time.Hour - time.Second, ""},
		"without a reason": {func(s *v1alpha1.BreakglassEscalationSpec) {
			s.ApprovalReason = &v1alpha1.ReasonRule{Mandatory: true, Description: "name the ticket"}
		}, nil, Step{To: "Approved", By: Person{Name: "dave"}, Reason: " "}, 0, "name the ticket"},
		"without a reason that may be given": {func(s *v1alpha1.BreakglassEscalationSpec) { s.ApprovalReason = &v1alpha1.ReasonRule{} }, nil, Step{To: "Approved", By: Person{Name: "dave"}}, 0, ""},
		"with a reason":                      {func(s *v1alpha1.BreakglassEscalationSpec) { s.ApprovalReason = &v1alpha1.ReasonRule{Mandatory: true} }, nil, Step{To: "Approved", By: Person{Name: "dave"}, Reason: "T-1"}, 0, ""},
		"twice by the same": {func(s *v1alpha1.BreakglassEscalationSpec) { s.RequiredApprovals = &two }, func(s *v1alpha1.BreakglassSession) {
			s.Status.State, s.Status.RequestedAt, s.Status.Approvals = "Pending", at(noon), []v1alpha1.SessionApproval{{By: "dave", At: *at(noon), EscalationVersion: "e1/0"}}
		}, Step{To: "Approved", By: Person{Name: "dave"}}, 0, "has approved BreakglassSession s already"},
		"revoked when expired": {nil, func(s *v1alpha1.BreakglassSession) {
			s.Status.State, s.Status.ApprovedAt = "Approved", at(noon)
		}, Step{To: "Revoked", By: Person{Name: "dave"}}, time.Hour, "is Expired by now"},
		"withdrawn when expired": {nil, func(s *v1alpha1.BreakglassSession) {
			s.Status.State, s.Status.ApprovedAt = "Approved", at(noon)
		}, Step{To: "Withdrawn", By: Person{Name: "carol"}}, time.Hour, "is Expired by now"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Apply(sessionOf(t, c.session), escalationOf(t, c.escalation), c.step, noon.Add(c.after))
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// TestTwoApprovals needs two people before anything is given.
func TestTwoApprovals(t *testing.T) {
	two := int32(2)
	e := escalationOf(t, func(s *v1alpha1.BreakglassEscalationSpec) { s.RequiredApprovals = &two })
	first, err := Apply(sessionOf(t, nil), e, Step{To: "Approved", By: Person{Name: "dave"}, Reason: "a"}, noon)
	if err != nil || first.State != v1alpha1.SessionPending || first.ApprovedAt != nil || len(first.Approvals) != 1 || first.RequestedBy != "carol" {
		t.Fatalf("%+v, %v", first, err)
	}
	s := sessionOf(t, func(o *v1alpha1.BreakglassSession) { o.Status = *first })
	if ok, _ := s.Active(e, noon, noon); ok {
		t.Error("one approval of two gives access")
	}
	second, err := Apply(s, e, Step{To: "Approved", By: Person{Name: "erin"}, Reason: "b"}, noon.Add(time.Minute))
	if err != nil || second.State != v1alpha1.SessionApproved || !second.ExpiresAt.Time.Equal(noon.Add(61*time.Minute)) {
		t.Fatalf("%+v, %v", second, err)
	}
}
