package record

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestSessionEvents gives each step a type of its own, with who took it.
func TestSessionEvents(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC))
	s := &v1alpha1.BreakglassSession{
		ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "u"},
		Spec:       v1alpha1.BreakglassSessionSpec{User: "carol", Cluster: "prod", EscalationRef: "debug"},
		Status: v1alpha1.BreakglassSessionStatus{
			Approvals: []v1alpha1.SessionApproval{{By: "dave"}, {By: "erin"}}, ExpiresAt: &now, Terms: &v1alpha1.SessionTerms{EscalatedGroup: "debuggers"},
		},
	}
	for state, want := range map[v1alpha1.SessionState]string{
		v1alpha1.SessionPending: "BreakglassSessionRequested", v1alpha1.SessionApproved: "BreakglassSessionApproved", v1alpha1.SessionIdleExpired: "BreakglassSessionIdleExpired",
	} {
		e := sessionEvent(s, v1alpha1.SessionTransition{State: state, At: now, By: "erin", Reason: "why"})
		if e.Type != want || e.User.Name != "erin" || e.Session.User != "carol" || e.Session.Reason != "why" {
			t.Errorf("%+v, %+v", e, e.Session)
		}
		if approved := e.Session.Approvers == "dave, erin" && e.Session.Group == "debuggers" && e.Session.ExpiresAt == "2026-11-28T12:00:00Z"; approved == (state == v1alpha1.SessionPending) {
			t.Errorf("%s: %+v", state, e.Session)
		}
	}
}

// TestOverrideEvents names what a session excused, and what it let in.
func TestOverrideEvents(t *testing.T) {
	session := &decision.Session{Name: "s", Escalation: "debug", User: "carol"}
	r := &request.Request{Door: request.Access, Verb: "create", Subresource: "exec"}
	r.Resource.Resource = "pods"
	excused := &decision.Decision{Verdict: decision.Allow, Results: []decision.Result{{Status: decision.Pass, Session: session}}}
	if e := newEvent(r, excused, "", time.Time{}); e == nil || e.Type != "PodSecurityOverride" || len(e.Results) != 1 || e.Results[0].Session != session {
		t.Errorf("%+v", e)
	}
	granted := &decision.Decision{Verdict: decision.Allow, Granted: session}
	if e := newEvent(r, granted, "", time.Time{}); e == nil || e.Type != "PodSecurityGranted" || e.Granted != session {
		t.Errorf("%+v", e)
	}
	if e := newEvent(r, &decision.Decision{Verdict: decision.Allow}, "", time.Time{}); e != nil {
		t.Errorf("a plain allow: %+v", e)
	}
}
