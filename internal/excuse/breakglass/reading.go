package breakglass

import (
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Required is how many different people have to approve.
func (e *Escalation) Required() int { return e.required }

// MaxValidFor is the longest time that a session is valid.
func (e *Escalation) MaxValidFor() time.Duration { return e.maxValidFor }

// Begins is when access begins by the status; the zero time where it was not
// approved.
func (s *Session) Begins() time.Time {
	begin, _ := s.begins()
	return begin
}

// AnswerBy is until when the session can be answered; the zero time where it does
// not say when it was asked for.
func (s *Session) AnswerBy(e *Escalation) time.Time {
	asked := s.asked()
	if asked.IsZero() {
		return asked
	}
	return asked.Add(e.approvalTimeout)
}

// ValidFor is how long the session is valid once it begins.
func (s *Session) ValidFor(e *Escalation) time.Duration {
	if s.maxValidFor > 0 {
		return min(e.maxValidFor, s.maxValidFor)
	}
	return e.maxValidFor
}

// IdleAfter is after how long without use the session ends; 0 for never.
func (s *Session) IdleAfter(e *Escalation) time.Duration { return s.idle(e) }

// Now makes the status that the session has at a time, whether somebody has written
// it down or not.
func (s *Session) Now(e *Escalation, now time.Time) *v1alpha1.BreakglassSessionStatus {
	// One that was asked for a moment ago can have timed out since.
	status, _ := Tick(s, e, time.Time{}, now)
	status, _ = Tick(s.with(status), e, time.Time{}, now)
	return status
}
