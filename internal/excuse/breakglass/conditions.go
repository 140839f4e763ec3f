package breakglass

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// The conditions of a session.
const (
	// ConditionBoundToUID: the session is of an account, and not only of a name.
	ConditionBoundToUID = "BoundToUID"
	// ConditionEntriesKnown: who enters pods under the session is seen.
	ConditionEntriesKnown = "EntriesKnown"
	// ConditionImpersonationRefused: no one uses the session by acting as its user.
	ConditionImpersonationRefused = "ImpersonationRefused"
)

// Doors are those that the API server of a cluster is known to be wired to.
type Doors struct {
	// Admission is the front door, Access the side door.
	Admission, Access bool
	// Uncounted is set where the front door is asked by whoever shows no credentials, whose
	// entries do not count.
	Uncounted bool
}

// SetConditions writes down what holds for a session. One that is over stays as it was.
func SetConditions(status *v1alpha1.BreakglassSessionStatus, s *Session, e *Escalation, doors Doors, now time.Time) {
	if Final(status.State) {
		return
	}
	set := func(kind string, is metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: kind, Status: is, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second))})
	}
	if s.UserUID != "" {
		set(ConditionBoundToUID, metav1.ConditionTrue, "UID", fmt.Sprintf("it counts for the account of %s that asked for it, by its uid", s.User))
	} else {
		set(ConditionBoundToUID, metav1.ConditionFalse, "NameOnly", fmt.Sprintf("the API server gave no uid when it was asked for, so it counts for whoever signs in as %s", s.User))
	}
	if doors.Admission && doors.Uncounted {
		set(ConditionEntriesKnown, metav1.ConditionUnknown, "CallersNotKnown", "the front door is asked by callers that show no credentials (serve --callers network), whose entries do not count")
	} else if doors.Admission {
		set(ConditionEntriesKnown, metav1.ConditionTrue, "FrontDoor", "the front door sees who enters pods")
	} else {
		set(ConditionEntriesKnown, metav1.ConditionUnknown, "NoFrontDoor", fmt.Sprintf("cluster %q is not said to have the front door, so who enters pods there is not seen", s.Cluster))
	}
	switch {
	case e != nil && s.Impersonable(e):
		set(ConditionImpersonationRefused, metav1.ConditionFalse, "Allowed", fmt.Sprintf("BreakglassEscalation %s allows it, so whoever may impersonate %s can use the session", e.Name, s.User))
	case doors.Access:
		set(ConditionImpersonationRefused, metav1.ConditionTrue, "SideDoor", fmt.Sprintf("to impersonate %s is refused while the session is active", s.User))
	default:
		set(ConditionImpersonationRefused, metav1.ConditionUnknown, "NoSideDoor", fmt.Sprintf("cluster %q is not said to have the side door, so whoever may impersonate %s there can use the session", s.Cluster, s.User))
	}
}
