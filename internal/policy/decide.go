package policy

import (
	"context"

	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/request"
)

// Decide judges a request by every policy that is about it. The results stand in
// a fixed order: deny policies by precedence and name, identities by where they
// stand, then rules by policy. It
// never fails: what cannot be judged is a result with status error, and the
// policy's own fail mode decides what follows.
func (s *Set) Decide(ctx context.Context, r *request.Request) decision.Decision {
	c := &call{ctx: ctx, request: r, passes: s.passes, breakglass: s.breakglass}
	var results []decision.Result
	if len(s.deny) > 0 {
		c.here = s.here(r.ClusterName)
	}
	if a, ok := accessOf(r); ok {
		c.access = &a
		for _, p := range s.byPoint[a.point()] {
			if p.covers(c) {
				results = p.decideRisk(c, results)
			}
		}
	}
	if len(s.ruled) > 0 {
		for _, found := range s.about(r) {
			if found.policy.covers(c) {
				results = found.policy.decideRules(c, found.rules, results)
			}
		}
	}
	results = s.decideIdentities(c, results)
	if r.Door == request.Admission {
		results = s.decideModules(c, results)
		results = s.decideObject(c, results)
	}
	d := decision.Of(results)
	if !d.Refuses() {
		d.Granted = s.grant(c)
		c.countUses()
	}
	return d
}

// decideObject judges what is created, changed or connected to. Nothing is
// judged when it is deleted.
func (s *Set) decideObject(c *call, results []decision.Result) []decision.Result {
	r := c.request
	switch r.Operation {
	case request.Create, request.Update:
		if r.Object == nil {
			return results
		}
		if !r.Background {
			results = s.admitPolicyObject(c, results)
			results = s.decideExemptLabels(c, results)
		}
	case request.Connect:
	default:
		return results
	}
	s.rules.about(c.target().Key().Kind, func(rule *rule) {
		if r.Background && !rule.background {
			return
		}
		results = rule.decide(c, results)
	})
	return results
}
