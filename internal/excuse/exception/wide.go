package exception

import (
	"time"

	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// Wide has the exceptions that can excuse all of what a rule is about: no condition
// narrows them, and no control.
type Wide struct {
	// byPolicy has them by the policy that they name, and patterns are those that name
	// policies by one.
	byPolicy map[string][]*Exception
	patterns []*Exception
	// times are when one of them begins or ends to hold.
	times []time.Time
}

// Wide finds them.
func (s *Set) Wide() *Wide {
	w := &Wide{byPolicy: map[string][]*Exception{}}
	for _, p := range s.Exceptions() {
		if p.void == nil && p.conditions.AskNothing() && p.PodSecurity.Empty() {
			w.add(p)
		}
	}
	return w
}

func (w *Wide) add(p *Exception) {
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

// Excused says what a rule is about, as far as Excusing goes by it.
type Excused struct {
	// Match is the match block of the rule; nil for one without, and where exceptions
	// are matched in another way. Then only an exception of every kind excuses all.
	Match *match.Match
	// In says what else is known of what the rule is about.
	In match.Space
	// Somewhere is set where some of it is in a namespace, if not all.
	Somewhere bool
}

// Excusing is an exception that excuses now whatever a rule is about, and what of it is
// left, as the end of a sentence; nil for none.
func (w *Wide) Excusing(q *Query, what *Excused) (*Exception, string) {
	var best *Exception
	var left match.Coverage
	for _, list := range [][]*Exception{w.byPolicy[q.Policy], w.patterns} {
		for _, p := range list {
			c := p.excuses(q, what)
			if c.All && c.But() == "" {
				return p, ""
			}
			if c.All && best == nil {
				best, left = p, c
			}
		}
	}
	return best, left.But()
}

func (p *Exception) excuses(q *Query, what *Excused) match.Coverage {
	if p.bound && p.namespace != q.PolicyNamespace || !p.Period.Holds(q.Now) {
		return match.Coverage{}
	}
	if named, lacks := p.names(q); !named || lacks != nil {
		return match.Coverage{}
	}
	if what.Match == nil {
		c := p.match.EveryKind(what.In)
		c.All = c.All && (!c.InNone || what.Somewhere)
		return c
	}
	if !what.In.EveryKind && what.Match.SaysTheSame(p.match) {
		return match.Coverage{All: true}
	}
	return what.Match.Covered(p.match, what.In)
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
