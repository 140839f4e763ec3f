package policy

import (
	"context"
	"slices"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Module is the set with nothing but the policies of that id which are modules and
// run here, as a webhook of one policy asks for them; nil if there is none. Where
// two have the same id, it holds both.
func (s *Set) Module(id string) *Set {
	found := s.Modules.ByID[id]
	if found == nil || !slices.ContainsFunc(found.All, func(p *modulepolicy.Policy) bool { return s.Runs(p) || p.StandsFor() != nil }) {
		return nil
	}
	one := &Set{kinds: s.kinds}
	one.Registry, one.Excusing, one.Runner, one.Modules = s.Registry, s.Excusing, s.Runner, *found
	return one
}

// DecideModules judges a request only by the modules of the set.
func (s *Set) DecideModules(ctx context.Context, r *request.Request) decision.Decision {
	c := &call.Call{Ctx: ctx, Request: r, Exceptions: s.Excusing}
	return decision.Of(s.JudgeModules(c, nil))
}

// Run returns the set with what runs the modules of its policies.
func (s *Set) Run(modules modulepolicy.Modules) *Set {
	changed := *s
	changed.Runner = modules
	return &changed
}
