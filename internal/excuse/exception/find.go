package exception

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// Query is a rule that failed for a resource.
type Query struct {
	PolicyKind, PolicyNamespace, Policy string
	// Rule is the name that the rule failed under; BaseRule the name of the rule
	// that it was generated from, if it was.
	Rule, BaseRule string
	// Targets are the resource: an exception that matches one of them matches.
	// For an access these are the way in (Pod/exec) and the pod itself.
	Targets []*match.Target
	// Input makes what conditions are evaluated with, with the namespace if they
	// name it.
	Input func(namespace bool) (*expression.Input, error)
	Now   time.Time
	// Elsewhere is set where the resource is in another cluster than the exceptions.
	Elsewhere bool
}

// Trouble is an exception that might have excused a rule and could not be
// judged. It excuses nothing.
type Trouble struct {
	Exception decision.Exception
	Err       error
}

// String is one sentence.
func (t Trouble) String() string {
	return fmt.Sprintf("%s does not excuse it: %v", t.Exception.Called(), t.Err)
}

// errElsewhere is why an exception of a namespace does not count in another
// cluster.
var errElsewhere = errors.New("it holds in its own namespace, and so only in its own cluster; a ClusterPolicyException reaches further clusters")

// maxOver is how many exceptions are named that are over, or not valid yet.
const maxOver = 3

// Find calls visit with each pass that is valid now and is about the rule and
// the resource, in a fixed order, until visit returns false. What might have been
// about them and could not be judged is returned.
func (s *Set) Find(ctx context.Context, q *Query, visit func(*Exception) bool) []Trouble {
	if !s.Any() {
		return nil
	}
	var troubles []Trouble
	over := 0
	for _, at := range s.index.about(q) {
		p := s.index.passes[at]
		named, lacks := p.names(q)
		if !named {
			continue
		}
		holds := p.void == nil && lacks == nil && p.Period.Holds(q.Now)
		if !holds && (q.Now.IsZero() || over == maxOver) {
			continue
		}
		applies, err := p.applies(ctx, q)
		switch {
		case p.bound && q.Elsewhere:
			// Whoever may write exceptions in a namespace has that right in one cluster.
			if holds && applies && over < maxOver {
				over++
				troubles = append(troubles, Trouble{p.Names, errElsewhere})
			}
		case !holds && applies:
			over++
			why := cmp.Or(p.void, lacks)
			if why == nil {
				why = p.Period.why(q.Now)
			}
			troubles = append(troubles, Trouble{p.Names, why})
		case !holds:
		case err != nil:
			troubles = append(troubles, Trouble{p.Names, err})
		case applies && !visit(p):
			return nil
		}
	}
	return troubles
}

// names reports whether the pass names the rule. lacks says why it does not excuse
// from it all the same, if it was not approved for that.
func (p *Exception) names(q *Query) (named bool, lacks error) {
	for i := range p.rules {
		if !p.rules[i].covers(q) {
			continue
		}
		if lacks = p.rules[i].lacks(q.PolicyKind, q.Now); lacks == nil {
			return true, nil
		}
		named = true
	}
	return named, lacks
}

// applies reports whether the pass is about the resource.
func (p *Exception) applies(ctx context.Context, q *Query) (bool, error) {
	matched := false
	var failed error
	for _, t := range q.Targets {
		if p.bound && t.Namespace != p.namespace {
			continue
		}
		ok, err := p.match.Match(t)
		if err != nil {
			failed = err
		}
		if ok {
			matched = true
			break
		}
	}
	if !matched {
		return false, failed
	}
	if p.conditions == nil {
		return true, nil
	}
	in, err := q.Input(p.conditions.NeedsNamespace())
	if err != nil {
		return false, fmt.Errorf("its conditions cannot be evaluated: %w", err)
	}
	holds, _, err := p.conditions.Hold(ctx, in)
	if err != nil {
		return false, fmt.Errorf("its conditions cannot be evaluated: %w", err)
	}
	return holds, nil
}
