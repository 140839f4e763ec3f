package policy

import (
	"context"
	"slices"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Module is the set with nothing but the policies of that id which are modules and
// run here, as a webhook of one policy asks for them; nil if there is none. Where
// two have the same id, it holds both.
func (s *Set) Module(id string) *Set {
	found := s.modules.byID[id]
	if found == nil || !slices.ContainsFunc(found.all, func(p *modulePolicy) bool { return s.runs(p) || p.standsFor() != nil }) {
		return nil
	}
	one := &Set{kinds: s.kinds}
	one.pods, one.passes, one.runner, one.modules = s.pods, s.passes, s.runner, *found
	return one
}

// DecideModules judges a request only by the modules of the set.
func (s *Set) DecideModules(ctx context.Context, r *request.Request) decision.Decision {
	c := &call{ctx: ctx, request: r, passes: s.passes}
	return decision.Of(s.decideModules(c, nil))
}

// Run returns the set with what runs the modules of its policies.
func (s *Set) Run(modules Modules) *Set {
	changed := *s
	changed.runner = modules
	return &changed
}
