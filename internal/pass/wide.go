package pass

import (
	"time"

	"github.com/sallyport-io/sallyport/internal/match"
)

// Wide has the exceptions that can excuse all of what a rule is about: no condition
// narrows them, and no control.
type Wide struct {
	// byPolicy has them by the policy that they name, and patterns are those that name
	// policies by one.
	byPolicy map[string][]*Pass
	patterns []*Pass
	// times are when one of them begins or ends to hold.
	times []time.Time
}

// Wide finds them.
func (s *Set) Wide() *Wide {
	w := &Wide{byPolicy: map[string][]*Pass{}}
	for _, p := range s.Passes() {
		if p.void == nil && p.conditions == nil && p.PodSecurity.Empty() {
			w.add(p)
		}
	}
	return w
}

func (w *Wide) add(p *Pass) {
	w.times = append(w.times, p.Period.From, p.Period.Until)
	pattern := false
	for i := range p.rules {
		switch r := &p.rules[i]; {
		case !r.pattern:
			w.byPolicy[r.policy] = append(w.byPolicy[r.policy], p)
		case !pattern:
			pattern = true
			w.patterns = append(w.patterns, p)
		}
	}
}

// Excusing is an exception that excuses now whatever a rule is about; nil for none.
// about is the match block of the rule; nil where only an exception of every kind does,
// as of a rule without one, and of one that is also about what makes the pods that it
// names.
func (w *Wide) Excusing(q *Query, about *match.Match) *Pass {
	for _, list := range [][]*Pass{w.byPolicy[q.Policy], w.patterns} {
		for _, p := range list {
			if p.excusesAll(q, about) {
				return p
			}
		}
	}
	return nil
}

func (p *Pass) excusesAll(q *Query, about *match.Match) bool {
	if p.bound && p.namespace != q.PolicyNamespace || !p.Period.Holds(q.Now) {
		return false
	}
	if named, lacks := p.names(q); !named || lacks != nil {
		return false
	}
	whole := match.Coverage{All: true}
	return p.match.EveryKind(match.Space{}) == whole || about.Covered(p.match, match.Space{Rule: true}) == whole || about.SaysTheSame(p.match)
}

// Next is when one of them begins or ends to hold next after a time; zero for never.
func (w *Wide) Next(after time.Time) (next time.Time) {
	for _, at := range w.times {
		if at.After(after) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}
