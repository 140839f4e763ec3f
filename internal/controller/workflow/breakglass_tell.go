package workflow

import (
	"slices"
	"strconv"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/observe/notify"
)

// tooLate is how old what happened may be for others to be told still: whoever
// turns notifications on does not want to hear of last month.
const tooLate = time.Hour

// recordedPrefix begins the entry of status.notified that says how much of the
// history the audit log has.
const recordedPrefix = "recorded:"

func sameSessionStatus(a, b *v1alpha1.BreakglassSession) bool {
	return apiequality.Semantic.DeepEqual(a.Status, b.Status)
}

// dueEvents are the events that others were not told of yet. They are noted down in
// the status, which is written before they are sent.
func (c *Controller) dueEvents(s *v1alpha1.BreakglassSession, e *breakglass.Escalation, now time.Time) []notify.Event {
	if c.Breakglass.Notify == nil {
		return nil
	}
	var due []notify.Event
	for _, event := range happened(s, c.Breakglass.ExpiryNotice, now) {
		if slices.Contains(s.Status.Notified, string(event.Type)) {
			continue
		}
		s.Status.Notified = append(s.Status.Notified, string(event.Type))
		if now.Sub(event.Time) > tooLate {
			continue
		}
		event.ID = string(s.UID) + "-" + string(event.Type)
		event.Session, event.Escalation, event.Cluster, event.User = s.Name, s.Spec.EscalationRef, s.Spec.Cluster, s.Spec.User
		event.State = string(s.Status.State)
		if at := s.Status.ExpiresAt; at != nil {
			ends := at.UTC()
			event.ExpiresAt = &ends
		}
		if t := s.Status.Terms; t != nil {
			event.Group = t.EscalatedGroup
		}
		if e != nil {
			if event.Approvers = e.Approvers(); event.Group == "" {
				event.Group = e.Group
			}
		}
		due = append(due, event)
	}
	return due
}

// happened lists what has happened to a session, the first first.
func happened(s *v1alpha1.BreakglassSession, notice time.Duration, now time.Time) []notify.Event {
	status := &s.Status
	var events []notify.Event
	add := func(kind notify.Type, at time.Time, by, reason string) {
		events = append(events, notify.Event{Type: kind, Time: at.UTC(), Actor: by, Reason: reason})
	}
	if status.State != "" && status.RequestedAt != nil {
		add(notify.Asked, status.RequestedAt.Time, status.RequestedBy, s.Spec.RequestReason)
	}
	if at := status.ApprovedAt; at != nil {
		by, reason := "", ""
		if n := len(status.Approvals); n > 0 {
			names := make([]string, n)
			for i := range status.Approvals {
				names[i] = status.Approvals[i].By
			}
			by, reason = strings.Join(names, ", "), status.Approvals[n-1].Reason
		}
		add(notify.Approved, at.Time, by, reason)
	}
	if at, begin := status.ExpiresAt, begun(s); status.State == v1alpha1.SessionApproved && at != nil &&
		at.Sub(begin) > notice && !now.Before(at.Add(-notice)) && now.Before(at.Time) {
		add(notify.Expiring, at.Add(-notice), "", "")
	}
	if !breakglass.Final(status.State) || len(status.History) == 0 {
		return events
	}
	last := &status.History[len(status.History)-1]
	kind := notify.Ended
	switch {
	case status.State == v1alpha1.SessionRejected:
		kind = notify.Denied
	case status.State == v1alpha1.SessionWithdrawn && status.ApprovedAt == nil:
		kind = notify.Withdrawn
	}
	add(kind, last.At.Time, last.By, last.Reason)
	return events
}

// begun is when access began.
func begun(s *v1alpha1.BreakglassSession) time.Time {
	var begin time.Time
	for _, at := range []*metav1.Time{s.Status.ApprovedAt, s.Spec.ScheduledStartTime} {
		if at != nil && at.After(begin) {
			begin = at.Time
		}
	}
	return begin
}

// dueRecords are the transitions that the audit log does not have yet.
func (c *Controller) dueRecords(s *v1alpha1.BreakglassSession) []v1alpha1.SessionTransition {
	if c.Breakglass.Record == nil {
		return nil
	}
	at := slices.IndexFunc(s.Status.Notified, func(n string) bool { return strings.HasPrefix(n, recordedPrefix) })
	have := 0
	if at >= 0 {
		// What is not a number stands for none: told twice is better than never.
		have, _ = strconv.Atoi(strings.TrimPrefix(s.Status.Notified[at], recordedPrefix))
	}
	history := s.Status.History
	if have = min(max(have, 0), len(history)); have == len(history) {
		return nil
	}
	entry := recordedPrefix + strconv.Itoa(len(history))
	if at < 0 {
		s.Status.Notified = append(s.Status.Notified, entry)
	} else {
		s.Status.Notified[at] = entry
	}
	return slices.Clone(history[have:])
}
