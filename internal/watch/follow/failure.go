package follow

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// failure is why a source cannot be read.
type failure struct {
	why string
	// away is since when the API server has not answered; zero where it does, as where
	// each watch begins and ends at once.
	away time.Time
}

// lasting is how long an API server was away that tells others when it answers again.
const lasting = time.Second

// failed tells why the source cannot be read at the moment: the API server did not
// answer, or refused.
func (s *source) failed(err error) {
	now, away := s.Clock.Now(), time.Time{}
	last := s.failing.Load()
	switch {
	case answers(err):
	case last != nil && !last.away.IsZero():
		away = last.away
	default:
		away = now
	}
	s.fails(err, now, away)
	if last != nil && away.IsZero() {
		s.report(last)
	}
}

// answers reports whether an error is what an API server has said, and not that it says
// nothing.
func answers(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) || errors.Is(err, errGone) || errors.Is(err, errLeaving)
}

// broke is failed for a watch that had begun: the API server had answered.
func (s *source) broke(err error) { s.fails(err, s.Clock.Now(), time.Time{}) }

func (s *source) fails(err error, now, away time.Time) {
	why := reason(err)
	if last := s.failing.Swap(&failure{why, away}); last == nil || last.why != why {
		s.Log.Info("what is watched cannot be read; it is tried again", "why", why)
		if s.Failed != nil {
			s.Failed(err)
		}
	}
	switch {
	case !s.listed.Load():
		s.Fact.Failed(why)
	case errors.Is(err, errLeaving), errors.Is(err, errGone) && s.KeepGone:
		// What was read last is what counts, and that is known.
		s.Fact.Heard(now)
		s.Fact.Failed(why)
	case errors.Is(err, errGone):
		s.Fact.Gone(now, why)
	default:
		s.Fact.Failed(why)
	}
}

// heard tells that everything up to a time has come.
func (s *source) heard(at time.Time) {
	last := s.failing.Swap(nil)
	if last == nil {
		s.Fact.Again(at)
		return
	}
	s.Log.Info("what is watched can be read again")
	s.Fact.Heard(at)
	s.report(last)
}

// answered tells that the API server has answered, whatever comes of it.
func (s *source) answered() {
	if last := s.failing.Load(); last != nil && s.failing.CompareAndSwap(last, &failure{why: last.why}) {
		s.report(last)
	}
}

// report tells the others on the way to the API server that it is not away any more. A
// source that fails every moment says nothing of the way.
func (s *source) report(last *failure) {
	if now := s.Clock.Now(); !last.away.IsZero() && now.Sub(last.away) >= lasting {
		s.Line.report(now)
	}
}
