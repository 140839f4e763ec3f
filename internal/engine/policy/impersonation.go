package policy

import (
	"fmt"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/impersonation"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// RuleImpersonation is the rule name of a result that keeps others from acting as
// somebody who holds a session.
const RuleImpersonation = "allowImpersonation"

// decideImpersonation refuses to let anyone act as a user who holds an active session.
// Once he does, no door sees who he is.
//
// A group holds no session, and the API server never lets anyone act in a group without
// asking about a user as well; so to name a group, or many, is not refused.
func (s *Set) decideImpersonation(c *call.Call, results []decision.Result) []decision.Result {
	r := c.Request
	if r.Door != request.Access || !impersonation.Is(r.Verb) || s.Sessions.Empty() {
		return results
	}
	target, ok := impersonation.Of(r.Verb, deny.FormsOf(r)[0])
	if !ok {
		return results
	}
	held := s.Sessions.Held(target.Is, r.ClusterName, r.Time)
	if held == nil {
		return results
	}
	return append(results, decision.Result{
		Policy: held.Escalation.Name, Rule: RuleImpersonation, Kind: breakglass.KindEscalation,
		Resource: c.Resource(), Status: decision.Fail, Action: decision.Enforce, Source: r.Source,
		Message: fmt.Sprintf("%s holds the active BreakglassSession %s, and whoever acts as him could use it; it is refused until the session is over, as BreakglassEscalation %s does not have allowImpersonation: true",
			held.User, held.Name, held.Escalation.Name),
	})
}
