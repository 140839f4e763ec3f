package exception

import (
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Count is what exceptions and requests are counted by: one of the Kinds, and a
// state as their status has it.
type Count struct{ Kind, State string }

// Counts says how many exceptions and requests are in which state.
func (s *Set) Counts(now time.Time) map[Count]int {
	counts := map[Count]int{}
	if s == nil {
		return counts
	}
	for id, state := range s.states {
		switch id.kind {
		case KindException, KindClusterException:
			counts[Count{id.kind, string(state.Exception(now))}]++
		case KindRequest:
			counts[Count{id.kind, string(state.request(now))}]++
		}
	}
	return counts
}

// Exception is the state of an exception at a time.
func (s *State) Exception(now time.Time) v1alpha1.ExceptionState {
	switch {
	case s.Problem != nil || len(s.Periods) == 0:
		return v1alpha1.ExceptionNoEffect
	case s.over(now):
		return v1alpha1.ExceptionExpired
	case s.Periods[0].Holds(now):
		return v1alpha1.ExceptionActive
	default:
		return v1alpha1.ExceptionPending
	}
}

func (s *State) request(now time.Time) v1alpha1.RequestState {
	switch {
	case !s.Answered:
		return v1alpha1.RequestPending
	case !s.Effective:
		return v1alpha1.RequestDenied
	case s.over(now):
		return v1alpha1.RequestExpired
	default:
		return v1alpha1.RequestApproved
	}
}

// over reports whether every part has expired.
func (s *State) over(now time.Time) bool {
	for i := range s.Periods {
		if !s.Periods[i].Expired(now) {
			return false
		}
	}
	return len(s.Periods) > 0
}
