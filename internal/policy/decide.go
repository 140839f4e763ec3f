package policy

import (
	"context"

	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/pod"
	"github.com/sallyport-io/sallyport/internal/request"
)

// Decide judges a request by every policy that is about it. The results stand in
// a fixed order: deny policies by precedence and name, then rules by policy. It
// never fails: what cannot be judged is a result with status error, and the
// policy's own fail mode decides what follows.
func (s *Set) Decide(ctx context.Context, r *request.Request) decision.Decision {
	c := &call{ctx: ctx, request: r}
	var results []decision.Result
	if a, ok := accessOf(r); ok {
		c.access = &a
		for _, p := range s.byPoint[a.point()] {
			if p.scope.covers(r.ClusterName) {
				results = p.decideRisk(c, results)
			}
		}
	}
	for _, p := range s.ruled {
		if p.scope.covers(r.ClusterName) {
			results = p.decideRules(c, results)
		}
	}
	if r.Door == request.Admission && r.Object != nil {
		results = s.decideObject(c, results)
	}
	return decision.Of(results)
}

// decideObject judges what is created or changed.
func (s *Set) decideObject(c *call, results []decision.Result) []decision.Result {
	r := c.request
	if r.Operation != request.Create && r.Operation != request.Update {
		return results
	}
	results = s.admitPolicyObject(c, results)
	results = s.decideExemptLabels(c, results)
	if len(r.Object.Pods) == 0 {
		return results
	}
	if r.Operation == request.Update && r.OldObject != nil && !pod.SignificantUpdate(r.OldObject, r.Object) {
		return results
	}
	s.rules.about(r.Object.GVK, func(rule *rule) {
		name, ok := rule.applies(c)
		if !ok {
			return
		}
		apiVersion, kind := r.Object.GVK.ToAPIVersionAndKind()
		base := decision.Result{
			Policy: rule.policy, PolicyNamespace: rule.namespace, Rule: name, Kind: rule.kind,
			Resource: decision.Resource{APIVersion: apiVersion, Kind: kind, Namespace: r.Namespace, Name: r.Name},
			Status:   decision.Pass, Action: rule.action, Source: r.Source,
		}
		from := len(results)
		results = rule.standard.judge(c, r.Object.Pods, rule, base, results)
		for i := from; i < len(results); i++ {
			if results[i].Action == decision.ActionWarn && results[i].Status == decision.Fail {
				results[i].Status = decision.Warn
			}
		}
	})
	return results
}
