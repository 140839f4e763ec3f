package breakglass

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestConditions says of a session what holds for it, and what nobody sees.
func TestConditions(t *testing.T) {
	both, front, side := Doors{Admission: true, Access: true}, Doors{Admission: true}, Doors{Access: true}
	allow := func(e *v1alpha1.BreakglassEscalationSpec) { e.AllowImpersonation = true }
	withUID := func(s *v1alpha1.BreakglassSession) { s.Spec.UserUID = "u-1" }
	strictTerms := func(s *v1alpha1.BreakglassSession) {
		s.Status.State, s.Status.Terms = v1alpha1.SessionApproved, &v1alpha1.SessionTerms{}
	}
	laxTerms := func(s *v1alpha1.BreakglassSession) {
		s.Status.State, s.Status.Terms = v1alpha1.SessionApproved, &v1alpha1.SessionTerms{AllowImpersonation: true}
	}
	for _, tt := range []struct {
		name       string
		escalation func(*v1alpha1.BreakglassEscalationSpec)
		session    func(*v1alpha1.BreakglassSession)
		doors      Doors
		// The reasons of BoundToUID, EntriesKnown and ImpersonationRefused.
		bound, entries, refused string
	}{
		{"both doors", nil, nil, both, "NameOnly", "FrontDoor", "SideDoor"},
		{"with a uid", nil, withUID, both, "UID", "FrontDoor", "SideDoor"},
		{"the front door", nil, nil, front, "NameOnly", "FrontDoor", "NoSideDoor"},
		{"the side door", nil, nil, side, "NameOnly", "NoFrontDoor", "SideDoor"},
		{"the front door, asked by whom nobody knows", nil, nil, Doors{Admission: true, Access: true, Uncounted: true}, "NameOnly", "CallersNotKnown", "SideDoor"},
		{"no door", nil, nil, Doors{}, "NameOnly", "NoFrontDoor", "NoSideDoor"},
		{"allowed", allow, nil, both, "NameOnly", "FrontDoor", "Allowed"},
		{"allowed only then", nil, laxTerms, both, "NameOnly", "FrontDoor", "SideDoor"},
		{"allowed then and now", allow, laxTerms, both, "NameOnly", "FrontDoor", "Allowed"},
		{"allowed only since", allow, strictTerms, both, "NameOnly", "FrontDoor", "SideDoor"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sessionOf(t, tt.session)
			status := s.Object().Status.DeepCopy()
			SetConditions(status, s, escalationOf(t, tt.escalation), tt.doors, noon)
			for kind, want := range map[string]string{ConditionBoundToUID: tt.bound, ConditionEntriesKnown: tt.entries, ConditionImpersonationRefused: tt.refused} {
				c := meta.FindStatusCondition(status.Conditions, kind)
				if c == nil || c.Reason != want {
					t.Fatalf("%s: %+v, want %s", kind, c, want)
				}
				good := map[string]bool{"UID": true, "FrontDoor": true, "SideDoor": true}[want]
				if (c.Status == metav1.ConditionTrue) != good {
					t.Errorf("%s is %s for %s", kind, c.Status, want)
				}
			}
			before := status.DeepCopy()
			SetConditions(status, s, escalationOf(t, tt.escalation), tt.doors, noon.Add(time.Hour))
			if !meta.FindStatusCondition(status.Conditions, ConditionBoundToUID).LastTransitionTime.Equal(&before.Conditions[0].LastTransitionTime) {
				t.Error("what has not changed is written again")
			}
		})
	}
	orphan := sessionOf(t, nil)
	SetConditions(&orphan.object.Status, orphan, nil, both, noon)
	if c := meta.FindStatusCondition(orphan.object.Status.Conditions, ConditionImpersonationRefused); c == nil || c.Reason != "SideDoor" {
		t.Errorf("without its escalation: %+v", c)
	}
	over := sessionOf(t, func(s *v1alpha1.BreakglassSession) { s.Status.State = v1alpha1.SessionExpired })
	status := over.Object().Status.DeepCopy()
	SetConditions(status, over, escalationOf(t, nil), both, noon)
	if len(status.Conditions) > 0 {
		t.Errorf("the record of what is over is changed: %+v", status.Conditions)
	}
}

// TestNoSuchIdleBasis refuses what idle cannot be.
func TestNoSuchIdleBasis(t *testing.T) {
	_, errs := CompileEscalation(&v1alpha1.BreakglassEscalation{Spec: v1alpha1.BreakglassEscalationSpec{
		Allowed:   v1alpha1.EscalationAllowed{Clusters: []string{"*"}, Groups: []string{"devs"}},
		Approvers: v1alpha1.EscalationApprovers{Users: []string{"dave"}}, Idle: "questions",
	}})
	if len(errs) != 1 || errs[0].Field != "spec.idle" {
		t.Errorf("%v", errs)
	}
}
