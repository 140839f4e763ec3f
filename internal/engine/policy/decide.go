package policy

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Decide judges a request by every policy that is about it. The results stand in
// a fixed order: deny policies by precedence and name, identities by where they
// stand, then rules by policy. It
// never fails: what cannot be judged is a result with status error, and the
// policy's own fail mode decides what follows.
//
// Of a request that is Converted only those rules are asked which are not about it as
// it was written.
func (s *Set) Decide(ctx context.Context, r *request.Request) decision.Decision {
	r, doubt := s.settled(ctx, r)
	c := &call{ctx: ctx, request: r, passes: s.passes, breakglass: s.breakglass}
	results := s.judge(c)
	explain(results, doubt)
	d := decision.Of(results)
	if !d.Refuses() {
		if d.Granted = s.grant(c); d.Granted == nil {
			d.NotGranted = c.notGranted()
		}
		c.countUses()
	}
	return d
}

// judge lists what the policies say of a request.
func (s *Set) judge(c *call) (results []decision.Result) {
	r := c.request
	if r.Converted {
		return s.decideObject(c, nil)
	}
	if len(s.deny) > 0 {
		c.here = s.here(r.ClusterName)
	}
	if a, ok := accessOf(r); ok {
		c.access = &a
		results = s.decideAccess(c)
	}
	if len(s.ruled) > 0 {
		for _, found := range s.about(r) {
			if found.policy.covers(c) {
				results = found.policy.decideRules(c, found.rules, results)
			}
		}
	}
	results = s.decideImpersonation(c, results)
	results = s.decideIdentities(c, results)
	if r.Door == request.Admission {
		results = s.decideFault(c, results)
		results = s.decideModules(c, results)
		results = s.decideObject(c, results)
	}
	return results
}

// decideAccess judges the risk of what is entered. Where several sessions let the user
// in, each into some of the pods or past some of the policies, one of them has to do
// it by itself: what sessions give does not add up.
func (s *Set) decideAccess(c *call) []decision.Result {
	judge := func() (results []decision.Result) {
		for _, p := range s.byPoint[c.access.point()] {
			if p.covers(c) {
				results = p.decideRisk(c, results)
			}
		}
		return results
	}
	results := judge()
	several := slices.ContainsFunc(c.uses, func(u sessionUse) bool { return u.by.Name != c.uses[0].by.Name })
	if !several {
		return results
	}
	if d := decision.Of(results); d.Refuses() {
		return results
	}
	// What excuses it beside sessions was counted above.
	defer func(trial bool) { c.trial = trial }(c.trial)
	c.trial = true
	for i := range c.active {
		c.only, c.uses = &c.active[i], nil
		results = judge()
		if d := decision.Of(results); !d.Refuses() {
			return results
		}
	}
	c.uses = nil
	return results
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
		if !r.Background && !r.Converted {
			results = s.admitPolicyObject(c, results)
			results = s.decideExemptLabels(c, results)
			results = s.decideNamespaceLabels(c, results)
		}
	case request.Connect:
	default:
		return results
	}
	judge := func(rule *rule) {
		if r.Background && !rule.background {
			return
		}
		results = rule.decide(c, results)
	}
	if c.target().KindUnread != nil {
		// It can be any.
		for _, rule := range s.rules.all {
			judge(rule)
		}
		return results
	}
	s.rules.about(schema.GroupKind{Group: c.target().Kind.Group, Kind: c.target().Key().Kind}, judge)
	return results
}
