package policy

import (
	"context"
	"slices"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// ModuleID is what a policy that is a module is called in a file of policies, and
// in the path at which only it is asked: clusterwide-NAME, or
// namespaced-NAMESPACE-NAME. Two policies of namespaces can have the same, as both
// parts may hold hyphens.
func (r PolicyRef) ModuleID() string {
	if r.Kind == KindAdmissionPolicy {
		return "namespaced-" + r.Namespace + "-" + r.Name
	}
	return "clusterwide-" + r.Name
}

func (p *modulePolicy) ref() PolicyRef {
	return PolicyRef{p.rule.kind, p.rule.namespace, p.rule.policy}
}

// Module is the set with nothing but the policies of that id which are modules and
// run here, as a webhook of one policy asks for them; nil if there is none. Where
// two have the same id, it holds both.
func (s *Set) Module(id string) *Set {
	found := s.modules.byID[id]
	if found == nil || !slices.ContainsFunc(found.all, func(p *modulePolicy) bool { return s.runs(p) || p.standsFor() != nil }) {
		return nil
	}
	return &Set{pods: s.pods, kinds: s.kinds, passes: s.passes, runner: s.runner, modules: *found}
}

// DecideModules judges a request only by the modules of the set.
func (s *Set) DecideModules(ctx context.Context, r *request.Request) decision.Decision {
	c := &call{ctx: ctx, request: r, passes: s.passes}
	return decision.Of(s.decideModules(c, nil))
}

// String names the policy, as Kind/name or Kind/namespace/name.
func (r PolicyRef) String() string {
	if r.Namespace == "" {
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Namespace + "/" + r.Name
}
