package policy

import (
	"context"
	"errors"
	"time"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// trialTime is how long whoever writes a policy waits for its module to be looked
// at. A quarter of what the request has left is kept for the answer.
const trialTime = 4 * time.Second

// tryModules has the modules of a policy that somebody writes look at its settings.
// What they refuse is a problem; that they cannot be asked now is a warning, since
// they may be there later.
func (s *Set) tryModules(c *call.Call, compiled *Set) (problems, warnings stored.Problems) {
	if s.Runner == nil || c.SameSpec() {
		return nil, nil
	}
	limit := trialTime
	if until, ok := c.Ctx.Deadline(); ok {
		left := time.Until(until)
		limit = min(limit, left-left/4)
	}
	ctx, cancel := context.WithTimeout(c.Ctx, limit)
	defer cancel()
	for _, p := range compiled.Modules.All {
		if c.Request.Unauthenticated {
			// Nobody has Sallyport fetch and run what he likes by making up a review.
			warnings = append(warnings, stored.Problem{Kind: p.Rule.Kind, Namespace: p.Rule.Namespace, Name: p.Rule.Policy, Path: "spec.module",
				Detail: "is not looked at before it is in force, where callers show no credentials; the condition Ready says whether it works"})
			continue
		}
		add := func(to stored.Problems, path, detail string) stored.Problems {
			problem := (stored.Ref{Kind: p.Rule.Kind, Namespace: p.Rule.Namespace, Name: p.Rule.Policy}).Problem("")
			problem.Path, problem.Detail = path, detail
			return append(to, problem)
		}
		info, err := s.Runner.Try(ctx, p.Guest)
		var refused *runner.SettingsRefused
		switch {
		case errors.As(err, &refused):
			problems = add(problems, "spec.settings", refused.Error())
		case err != nil:
			warnings = add(warnings, "spec.module", "works not yet: "+err.Error())
		}
		for _, missing := range info.Missing {
			warnings = add(warnings, "spec.contextAware", missing)
		}
		for _, note := range info.Notes {
			warnings = add(warnings, "spec.mutating", note)
		}
	}
	return problems, warnings
}
