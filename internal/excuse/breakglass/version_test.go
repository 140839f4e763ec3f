package breakglass

import (
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestApprovalsOfWhatWasChanged has an approval count for the escalation that was
// approved, and for no later one.
func TestApprovalsOfWhatWasChanged(t *testing.T) {
	two := int32(2)
	escalation := func(version string) *Escalation {
		e := escalationOf(t, func(spec *v1alpha1.BreakglassEscalationSpec) {
			spec.RequiredApprovals = &two
			spec.PodSecurityOverrides = &v1alpha1.PodSecurityOverrides{Enabled: true, RequireApproval: true, Approvers: &v1alpha1.EscalationApprovers{Users: []string{"dave"}}}
		})
		e.Version = version
		return e
	}
	approve := func(s *Session, e *Escalation, by string) *Session {
		t.Helper()
		status, err := Apply(s, e, Step{To: v1alpha1.SessionApproved, By: Person{Name: by}}, noon.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return s.with(status)
	}
	before, after := escalation("e1/1"), escalation("e1/2")
	s := approve(approve(sessionOf(t, nil), before, "dave"), after, "erin")
	if got := s.object.Status.State; got != v1alpha1.SessionPending {
		t.Fatalf("it is %s by an approval of what was changed since", got)
	}
	s = approve(s, after, "dave")
	if got := s.object.Status.State; got != v1alpha1.SessionApproved {
		t.Fatalf("it is %s, though both approved what it says now", got)
	}
	if !s.overridesApproved(after) {
		t.Error("dave's approval does not count for the overrides")
	}
	// An approval of what was changed since does not count for the overrides either.
	for by, want := range map[string]bool{"e1/1": false, "e1/2": true} {
		s := sessionOf(t, func(s *v1alpha1.BreakglassSession) {
			s.Status.Terms = &v1alpha1.SessionTerms{PodSecurityOverrides: after.spec.PodSecurityOverrides}
			s.Status.Approvals = []v1alpha1.SessionApproval{{By: "dave", Overrides: true, EscalationVersion: by}, {By: "erin", EscalationVersion: "e1/2"}, {By: "zoe", EscalationVersion: "e1/2"}}
		})
		if got := s.overridesApproved(after); got != want {
			t.Errorf("dave's approval of %s counts for the overrides: %t", by, got)
		}
	}
	if again := approve(approve(sessionOf(t, nil), escalation("e2/1"), "dave"), before, "erin"); again.object.Status.State != v1alpha1.SessionPending {
		t.Error("an approval of an escalation that was made again counts")
	}
}
