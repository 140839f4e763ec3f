package notify

import (
	"fmt"
	"strings"
	"time"
)

// Type says what happened.
type Type string

// The types of events.
const (
	Asked     Type = "asked"
	Approved  Type = "approved"
	Denied    Type = "denied"
	Withdrawn Type = "withdrawn"
	Expiring  Type = "expiring"
	Ended     Type = "ended"
)

// Types are all of them.
var Types = []Type{Asked, Approved, Denied, Withdrawn, Expiring, Ended}

// Event is what happened to a session. Times are written in UTC.
type Event struct {
	// ID is the same however often the event is sent, so that whoever gets it can
	// tell a repetition.
	ID   string    `json:"id"`
	Type Type      `json:"type"`
	Time time.Time `json:"time"`
	// Session is the name of the BreakglassSession, and Escalation that of the
	// BreakglassEscalation that it asks for.
	Session    string `json:"session"`
	Escalation string `json:"escalation"`
	Cluster    string `json:"cluster"`
	User       string `json:"user"`
	Group      string `json:"group,omitempty"`
	// Actor is who did it; empty where time did.
	Actor string `json:"actor,omitempty"`
	// Reason is what the actor gave, or what happened.
	Reason string `json:"reason,omitempty"`
	// State is that of the session now.
	State string `json:"state"`
	// ExpiresAt is when access ends, where there is any.
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	// Approvers may approve what is asked for.
	Approvers []string `json:"approvers,omitempty"`
}

// Sentence words the event for people.
func (e *Event) Sentence() string {
	b := &strings.Builder{}
	access := fmt.Sprintf("%s in cluster %s", e.Escalation, e.Cluster)
	switch e.Type {
	case Asked:
		fmt.Fprintf(b, "%s asks for %s", e.User, access)
	case Approved:
		fmt.Fprintf(b, "%s approved %s for %s", e.Actor, access, e.User)
	case Denied:
		fmt.Fprintf(b, "%s denied %s to %s", e.Actor, access, e.User)
	case Withdrawn:
		fmt.Fprintf(b, "%s withdrew the request for %s", e.User, access)
	case Expiring:
		fmt.Fprintf(b, "the access of %s by %s ends soon", e.User, access)
	default:
		fmt.Fprintf(b, "the access of %s by %s has ended", e.User, access)
	}
	if e.ExpiresAt != nil && (e.Type == Approved || e.Type == Expiring) {
		fmt.Fprintf(b, ", until %s", e.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if e.Reason != "" {
		fmt.Fprintf(b, ": %s", e.Reason)
	}
	if e.Type == Asked {
		fmt.Fprintf(b, " (to answer: sallyport approve session %s, or sallyport deny session %s)", e.Session, e.Session)
	}
	return b.String()
}
