package breakglass

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestTimes says until when a session can be answered, and when it begins and ends.
func TestTimes(t *testing.T) {
	never := time.Time{}
	approved := func(s *v1alpha1.BreakglassSession) { s.Status.ApprovedAt = at(noon) }
	for name, c := range map[string]struct {
		session                 func(*v1alpha1.BreakglassSession)
		answer, begins, expires time.Time
		validFor                time.Duration
	}{
		"asked for":              {nil, noon.Add(2 * time.Hour), never, never, time.Hour},
		"asked for later":        {func(s *v1alpha1.BreakglassSession) { s.Status.RequestedAt = at(noon.Add(time.Hour)) }, noon.Add(3 * time.Hour), never, never, time.Hour},
		"no one knows when":      {func(s *v1alpha1.BreakglassSession) { s.CreationTimestamp = metav1.Time{} }, never, never, never, time.Hour},
		"approved":               {approved, noon.Add(2 * time.Hour), noon, noon.Add(time.Hour), time.Hour},
		"for less":               {func(s *v1alpha1.BreakglassSession) { approved(s); s.Spec.MaxValidFor = "10m" }, noon.Add(2 * time.Hour), noon, noon.Add(10 * time.Minute), 10 * time.Minute},
		"for more than is given": {func(s *v1alpha1.BreakglassSession) { approved(s); s.Spec.MaxValidFor = "9h" }, noon.Add(2 * time.Hour), noon, noon.Add(time.Hour), time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := sessionOf(t, c.session), escalationOf(t, nil)
			if got := s.AnswerBy(e); !got.Equal(c.answer) {
				t.Errorf("to be answered by %s, want %s", got, c.answer)
			}
			if begins, expires := s.Begins(), s.ExpiresAt(e); !begins.Equal(c.begins) || !expires.Equal(c.expires) {
				t.Errorf("from %s until %s, want %s and %s", begins, expires, c.begins, c.expires)
			}
			if got := s.ValidFor(e); got != c.validFor {
				t.Errorf("valid for %s, want %s", got, c.validFor)
			}
		})
	}
}

// TestWithoutTimes leaves a session as it is where it does not say since when it is
// what it is: nothing is given by it, and nothing is over.
func TestWithoutTimes(t *testing.T) {
	e := escalationOf(t, nil)
	for state, c := range map[v1alpha1.SessionState]struct {
		asked *metav1.Time
		want  v1alpha1.SessionState
	}{
		v1alpha1.SessionPending:  {nil, v1alpha1.SessionPending},
		v1alpha1.SessionApproved: {at(noon), v1alpha1.SessionApproved},
		v1alpha1.SessionWaiting:  {at(noon), v1alpha1.SessionWaiting},
	} {
		s := sessionOf(t, func(s *v1alpha1.BreakglassSession) {
			s.CreationTimestamp, s.Status.State, s.Status.RequestedAt = metav1.Time{}, state, c.asked
		})
		if ok, why := s.Active(e, noon, noon); ok || state != v1alpha1.SessionPending && !strings.Contains(why, "does not say when it was approved") {
			t.Errorf("%s: active: %t (%s)", state, ok, why)
		}
		if status, changed := Tick(s, e, time.Time{}, noon.Add(99*time.Hour)); changed || status.State != c.want {
			t.Errorf("%s becomes %s", state, status.State)
		}
	}
	// Where the record of the request says another time than the object, it counts.
	s := sessionOf(t, func(s *v1alpha1.BreakglassSession) {
		s.Status.State, s.Status.RequestedAt = v1alpha1.SessionPending, at(noon.Add(time.Hour))
	})
	if status, _ := Tick(s, e, time.Time{}, noon.Add(2*time.Hour)); status.State != v1alpha1.SessionPending {
		t.Errorf("an hour after it was asked for it is %s", status.State)
	}
}

// TestNow tells what a session is by now, though no one has written it down.
func TestNow(t *testing.T) {
	for name, c := range map[string]struct {
		state v1alpha1.SessionState
		after time.Duration
		want  v1alpha1.SessionState
	}{
		"asked for":                 {"", time.Minute, v1alpha1.SessionPending},
		"asked for and forgotten":   {"", 2 * time.Hour, v1alpha1.SessionApprovalTimeout},
		"scheduled and begun":       {v1alpha1.SessionWaiting, 10 * time.Minute, v1alpha1.SessionApproved},
		"over":                      {v1alpha1.SessionApproved, time.Hour, v1alpha1.SessionExpired},
		"ended before, and as well": {v1alpha1.SessionRevoked, time.Hour, v1alpha1.SessionRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			s := inState(t, c.state)
			if got := s.Now(escalationOf(t, nil), noon.Add(c.after)); got.State != c.want {
				t.Errorf("it is %s, want %s", got.State, c.want)
			}
			if s.object.Status.State != c.state {
				t.Error("the session was changed")
			}
		})
	}
}

// TestScheduledInThePast begins when it is approved.
func TestScheduledInThePast(t *testing.T) {
	for ahead, want := range map[time.Duration]v1alpha1.SessionState{-time.Hour: v1alpha1.SessionApproved, time.Hour: v1alpha1.SessionWaiting} {
		s := sessionOf(t, func(s *v1alpha1.BreakglassSession) { s.Spec.ScheduledStartTime = at(noon.Add(ahead)) })
		status, err := Apply(s, escalationOf(t, nil), Step{To: v1alpha1.SessionApproved, By: Person{Name: "dave"}}, noon)
		if err != nil || status.State != want || !status.ExpiresAt.Time.Equal(noon.Add(max(ahead, 0)+time.Hour)) {
			t.Errorf("%s ahead: %+v, %v", ahead, status, err)
		}
	}
}
