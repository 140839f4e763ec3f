package deny

import (
	"fmt"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
)

// DecideRisk appends the result of podSecurityRules, which cover the access. The
// order is the document's: subresource scope (by the caller), exemptions, block
// factors, score, thresholds.
func (p *Policy) DecideRisk(c *call.Call, results []decision.Result) []decision.Result {
	from := len(results)
	results = p.decideRisk(c, results)
	stored.Settle(results[from:])
	return results
}

func (p *Policy) decideRisk(c *call.Call, results []decision.Result) []decision.Result {
	result := decision.Result{
		Policy: p.Name, Rule: stored.RulePodSecurity, Kind: stored.KindDenyPolicy,
		Resource: c.Resource(), Status: decision.Pass, Action: p.Action, Source: c.Request.Source,
		Remedy: decision.RemedyExemption,
	}
	if p.Broken != nil {
		return p.decideBroken(c, result, results)
	}
	// For an access to one pod its namespace can exempt it before it is read.
	if c.Access.Node == "" {
		why, exempt, err := p.Risk.ExemptNamespace(c.Access.Namespace, c.LabelsOf(c.Access.Namespace))
		if err != nil {
			return append(results, p.unjudged(result, err))
		}
		if exempt {
			result.Exempt, result.Message = why, "not judged: "+why
			return append(results, result)
		}
	}
	pods, err := c.EnteredPods()
	if err != nil {
		return append(results, p.unjudged(result, fmt.Errorf("%s cannot be read: %w", c.Access.What(), err)))
	}
	var worst risk.Verdict
	var riskiest *call.Entered
	var overridden []turned
	help := ""
	exempt := ""
	for i := range pods {
		verdict, why, err := p.judgePod(c, &pods[i])
		if err != nil {
			return append(results, p.unjudged(result, err))
		}
		if why != "" {
			exempt = why
			continue
		}
		if verdict.Denies() && !c.Breakglass.Empty() {
			found, hint, err := p.turn(c, &pods[i], &verdict)
			if err != nil {
				return append(results, p.unjudged(result, err))
			}
			if found != nil {
				overridden = append(overridden, *found)
				continue
			}
			help = hint
		}
		if riskiest == nil || verdict.Worse(&worst) {
			worst, riskiest = verdict, &pods[i]
		}
	}
	if len(overridden) > 0 && (riskiest == nil || !worst.Denies()) {
		return append(results, p.overriddenResult(c, result, overridden))
	}
	if riskiest == nil {
		if exempt == "" {
			exempt = "no pod runs on node " + c.Access.Node
		}
		result.Exempt, result.Message = exempt, "not judged: "+exempt
		return append(results, result)
	}
	result.Findings, result.Factors, result.Message = worst.Findings, worst.Factors, worst.Reason
	if worst.Scored {
		score := worst.Score
		result.Score = &score
	}
	if c.Access.Node != "" {
		result.Message = fmt.Sprintf("the riskiest pod that node %s runs is %s/%s: %s", c.Access.Node, riskiest.Namespace, riskiest.Name, worst.Reason)
	}
	switch worst.Action {
	case v1alpha1.ActionAllow:
		result.Status = decision.Pass
	case v1alpha1.ActionWarn:
		result.Status = decision.Warn
	default:
		result.Status = decision.Fail
		result.Message += help
	}
	if result.Status != decision.Pass {
		result = c.ExcuseAccess(result)
	}
	return append(results, result)
}

// judgePod judges one of the pods that an access reaches; why is set if the pod
// is exempt.
func (p *Policy) judgePod(c *call.Call, e *call.Entered) (verdict risk.Verdict, why string, err error) {
	in, why, err := p.riskInput(c, e)
	if why != "" || err != nil {
		return risk.Verdict{}, why, err
	}
	return p.Risk.Judge(in), "", nil
}

// riskInput is what the pod is judged by; why is set if the pod is exempt.
func (p *Policy) riskInput(c *call.Call, e *call.Entered) (in risk.Input, why string, err error) {
	// On a node, each pod has a namespace of its own.
	if c.Access.Node != "" {
		why, exempt, err := p.Risk.ExemptNamespace(e.Namespace, c.LabelsOf(e.Namespace))
		if err != nil || exempt {
			return risk.Input{}, why, err
		}
	}
	if why, exempt := p.Risk.ExemptPod(e.Meta.Labels); exempt {
		return risk.Input{}, why, nil
	}
	var powers []string
	if p.Risk.NeedsPowers() {
		account := e.ServiceAccountName()
		if powers, err = c.Request.Cluster.ServiceAccountPowers(c.Ctx, e.Namespace, account); err != nil {
			return risk.Input{}, "", fmt.Errorf("what service account %s/%s may do cannot be read: %w", e.Namespace, account, err)
		}
	}
	container, name := e.ContainerFor(c)
	return risk.Input{
		Pod: &e.Pod, Assessment: e.Assess(), Container: container, ContainerName: name, Powers: powers,
		Namespace: e.Namespace, Name: e.Name,
		User: c.Request.User.Name, Subresource: c.Access.Point(), Cluster: c.Request.ClusterName,
	}, "", nil
}

// unjudged is what follows when the pod, or what its judgement needs, cannot be
// read.
func (p *Policy) unjudged(result decision.Result, err error) decision.Result {
	return p.failMode(result, call.Unread(err))
}

// failMode is where the fail mode of a DenyPolicy is carried out, and the only
// place.
func (p *Policy) failMode(result decision.Result, what string) decision.Result {
	result.Status = decision.Error
	if p.failOpen {
		result.Action = decision.ActionAudit
		result.Message = what + "; failMode open lets the request through"
		return result
	}
	if p.Action != decision.Enforce {
		result.WouldDeny, result.Message = true, what+stored.LetsIn(p.Action)
		return result
	}
	result.FailClosed = true
	result.Message = what + "; failMode closed denies what cannot be judged"
	return result
}
