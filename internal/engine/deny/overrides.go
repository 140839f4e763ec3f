package deny

import (
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
)

// turned is a pod that a session lets the user into.
type turned struct {
	override
	pod *call.Entered
	// without is what the policy said before.
	without risk.Verdict
}

// turn looks for a session that lets the user into a pod that is denied. If there is
// none, hint says what would help.
func (p *Policy) turn(c *call.Call, e *call.Entered, verdict *risk.Verdict) (found *turned, hint string, err error) {
	in, _, err := p.riskInput(c, e)
	if err != nil {
		return nil, "", err
	}
	again := func(rules *risk.Rules) risk.Verdict { return rules.Judge(in) }
	by, err := p.overridden(c, e, verdict, again)
	if err != nil {
		return nil, "", err
	}
	if by == nil {
		return nil, p.helpful(c, e, again), nil
	}
	return &turned{*by, e, *verdict}, "", nil
}

// overriddenResult is the result of a policy where sessions let the user in.
func (p *Policy) overriddenResult(c *call.Call, result decision.Result, pods []turned) decision.Result {
	worst := &pods[0]
	for i := range pods {
		one := &pods[i]
		c.Used(one.grant, one.pod.Namespace, one.pod.Name, one.pod.Meta.UID)
		if one.without.Worse(&worst.without) {
			worst = one
		}
	}
	session := call.DescribedSession(worst.grant)
	session.Without = worst.without.Reason
	result.Session, result.Status = &session, decision.Skip
	result.Findings, result.Factors = worst.without.Findings, worst.without.Factors
	if worst.without.Scored {
		score := worst.without.Score
		result.Score = &score
	}
	result.Exceptions = []decision.Exception{{
		Kind: breakglass.KindSession, Name: session.Name, Reason: session.Reason, Requester: session.User, Approver: session.Approver, ExpiresAt: session.ExpiresAt,
	}}
	result.Message = fmt.Sprintf("let in by %s; without it: %s", session.String(), worst.without.Reason)
	if v := &worst.verdict; v.Score != worst.without.Score {
		result.Message += fmt.Sprintf("; with it the score is %d", v.Score)
	}
	if len(pods) > 1 {
		names := make([]string, len(pods))
		for i := range pods {
			names[i] = pods[i].pod.Namespace + "/" + pods[i].pod.Name
		}
		result.Message += "; this is so for " + strings.Join(names, ", ")
	}
	return result
}
