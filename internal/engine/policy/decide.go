package policy

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
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
	r, doubt := s.Settled(ctx, r)
	c := &call.Call{Ctx: ctx, Request: r, Exceptions: s.Excusing, Breakglass: s.Sessions}
	results := s.judge(c)
	explain(results, doubt)
	d := decision.Of(results)
	if !d.Refuses() {
		if d.Granted = s.grant(c); d.Granted == nil {
			d.NotGranted = c.NotGranted()
		}
		c.CountUses()
	}
	return d
}

// judge lists what the policies say of a request.
func (s *Set) judge(c *call.Call) (results []decision.Result) {
	r := c.Request
	if r.Converted {
		return s.decideObject(c, nil)
	}
	if len(s.Deny) > 0 {
		c.Here = s.Here(r.ClusterName)
	}
	if a, ok := call.AccessOf(r); ok {
		c.Access = &a
		results = c.UncountedEntry(s.decideAccess(c))
	}
	if len(s.Ruled) > 0 {
		for _, found := range s.About(r) {
			if found.Policy.Covers(c) {
				results = found.Policy.DecideRules(c, found.Rules, results)
			}
		}
	}
	results = s.decideImpersonation(c, results)
	results = s.DecideIdentities(c, results)
	if r.Door == request.Admission {
		results = s.decideFault(c, results)
		results = s.JudgeModules(c, results)
		results = s.decideObject(c, results)
	}
	return results
}

// decideAccess judges the risk of what is entered. Where several sessions let the user
// in, each into some of the pods or past some of the policies, one of them has to do
// it by itself: what sessions give does not add up.
func (s *Set) decideAccess(c *call.Call) []decision.Result {
	judge := func() (results []decision.Result) {
		for _, p := range s.ByPoint[c.Access.Point()] {
			if p.Covers(c) {
				results = p.DecideRisk(c, results)
			}
		}
		return results
	}
	results := judge()
	several := slices.ContainsFunc(c.Uses, func(u call.SessionUse) bool { return u.By.Name != c.Uses[0].By.Name })
	if !several {
		return results
	}
	if d := decision.Of(results); d.Refuses() {
		return results
	}
	// What excuses it beside sessions was counted above.
	defer func(trial bool) { c.Trial = trial }(c.Trial)
	c.Trial = true
	for i := range c.Active {
		c.Only, c.Uses = &c.Active[i], nil
		results = judge()
		if d := decision.Of(results); !d.Refuses() {
			return results
		}
	}
	c.Uses = nil
	return results
}

// decideObject judges what is created, changed or connected to. Nothing is
// judged when it is deleted.
func (s *Set) decideObject(c *call.Call, results []decision.Result) []decision.Result {
	r := c.Request
	switch r.Operation {
	case request.Create, request.Update:
		if r.Object == nil {
			return results
		}
		if !r.Background && !r.Converted {
			results = s.admitPolicyObject(c, results)
			results = s.DecideExemptLabels(c, results)
			results = s.decideNamespaceLabels(c, results)
		}
	case request.Connect:
	default:
		return results
	}
	judge := func(rule *clusterpolicy.Rule) {
		if r.Background && !rule.Background {
			return
		}
		results = rule.Decide(c, results)
	}
	if c.Target().KindUnread != nil {
		// It can be any.
		for _, rule := range s.rules.All {
			judge(rule)
		}
		return results
	}
	s.rules.About(schema.GroupKind{Group: c.Target().Kind.Group, Kind: c.Target().Key().Kind}, judge)
	return results
}
