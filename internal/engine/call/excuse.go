package call

import (
	"strings"

	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
)

// Query asks for what excuses a rule that failed. baseRule is the rule that it
// was generated from.
func (c *Call) Query(result *decision.Result, baseRule string, targets []*match.Target) *exception.Query {
	return &exception.Query{
		PolicyKind: result.Kind, PolicyNamespace: result.PolicyNamespace, Policy: result.Policy,
		Rule: result.Rule, BaseRule: baseRule, Targets: targets, Now: c.Request.Time,
		Input: c.ExpressionInput, Elsewhere: c.Request.Elsewhere,
	}
}

// ExcuseAccess shows a result of a DenyPolicy that is not a pass to the exceptions.
func (c *Call) ExcuseAccess(result decision.Result) decision.Result {
	if !c.Exceptions.Any() {
		return result
	}
	return c.ExcuseWhole(result, c.Query(&result, "", c.AccessTargets()))
}

// ExcuseWhole turns a failed result into a skip if an exception excuses the
// whole rule. The first one that does is named.
func (c *Call) ExcuseWhole(result decision.Result, q *exception.Query) decision.Result {
	troubles := c.Exceptions.Find(c.Ctx, q, func(p *exception.Exception) bool {
		if !p.PodSecurity.Empty() {
			return true
		}
		c.Skip(&result, p)
		return false
	})
	return c.WithTroubles(result, troubles)
}

// Skip says that a pass excuses the result.
func (c *Call) Skip(result *decision.Result, passes ...*exception.Exception) {
	names := make([]string, len(passes))
	for i, p := range passes {
		c.Use(result, p)
		names[i] = describePass(&p.Names)
	}
	result.Status = decision.Skip
	result.Message = "excused by " + strings.Join(names, " and ") + "; without it: " + result.Message
}

// Use names a pass in the result.
func (c *Call) Use(result *decision.Result, p *exception.Exception) {
	result.Exceptions = append(result.Exceptions, p.Names)
	if !c.Request.DryRun && !c.Request.Unauthenticated && !c.Trial {
		p.Used(c.Request.Time)
	}
}

// describePass words an exception: what, why, who, until when.
func describePass(e *decision.Exception) string {
	var parts []string
	for _, part := range []struct{ word, value string }{
		{"", e.Reason}, {"asked for by ", e.Requester}, {"approved by ", e.Approver}, {"until ", e.ExpiresAt},
	} {
		if part.value != "" {
			parts = append(parts, part.word+part.value)
		}
	}
	if len(parts) == 0 {
		return e.Called()
	}
	return e.Called() + " (" + strings.Join(parts, "; ") + ")"
}

// WithTroubles says what might have excused a result and could not be judged. There is
// none where something excuses it, see exception.Set.Find.
func (c *Call) WithTroubles(result decision.Result, troubles []exception.Trouble) decision.Result {
	for _, t := range troubles {
		t.Err = c.Runs().Error(t.Err)
		result.Message += "; " + t.String()
	}
	return result
}

// Violating is a pod with what it violates.
type Violating struct {
	Pod        *pod.Pod
	Violations []standard.Violation
}

// ExcuseViolations takes out of the violations what exceptions excuse: all of
// them, or the controls, images, fields and values that they name. It returns
// the passes that were of use; whole is set if one of them excuses the rule.
func (c *Call) ExcuseViolations(found []Violating, q *exception.Query) (used []*exception.Exception, whole bool, troubles []exception.Trouble) {
	troubles = c.Exceptions.Find(c.Ctx, q, func(p *exception.Exception) bool {
		if p.PodSecurity.Empty() {
			used, whole = []*exception.Exception{p}, true
			return false
		}
		helped, left := false, false
		for i := range found {
			rest, entries := p.PodSecurity.Excuse(found[i].Pod, found[i].Violations)
			found[i].Violations = rest
			helped, left = helped || len(entries) > 0, left || len(rest) > 0
		}
		if helped {
			used = append(used, p)
		}
		return left
	})
	return used, whole, troubles
}
