package policy

import (
	"fmt"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
)

// decideRisk appends the result of podSecurityRules, which cover the access. The
// order is the document's: subresource scope (by the caller), exemptions, block
// factors, score, thresholds.
func (p *denyPolicy) decideRisk(c *call, results []decision.Result) []decision.Result {
	result := decision.Result{
		Policy: p.name, Rule: RulePodSecurity, Kind: KindDenyPolicy,
		Resource: c.resource(), Status: decision.Pass, Action: decision.Enforce, Source: c.request.Source,
		Remedy: decision.RemedyExemption,
	}
	if p.broken != nil {
		return p.decideBroken(c, result, results)
	}
	// For an access to one pod its namespace can exempt it before it is read.
	if c.access.node == "" {
		why, exempt, err := p.risk.ExemptNamespace(c.access.namespace, c.labelsOf(c.access.namespace))
		if err != nil {
			return append(results, p.unjudged(result, err))
		}
		if exempt {
			result.Exempt, result.Message = why, "not judged: "+why
			return append(results, result)
		}
	}
	pods, err := c.enteredPods()
	if err != nil {
		return append(results, p.unjudged(result, fmt.Errorf("%s cannot be read: %w", c.access.what(), err)))
	}
	var worst risk.Verdict
	var riskiest *entered
	var lifted []turned
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
		if verdict.Denies() && !c.breakglass.Empty() {
			found, hint, err := p.turn(c, &pods[i], &verdict)
			if err != nil {
				return append(results, p.unjudged(result, err))
			}
			if found != nil {
				lifted = append(lifted, *found)
				continue
			}
			help = hint
		}
		if riskiest == nil || verdict.Worse(&worst) {
			worst, riskiest = verdict, &pods[i]
		}
	}
	if len(lifted) > 0 && (riskiest == nil || !worst.Denies()) {
		return append(results, p.lifted(c, result, lifted))
	}
	if riskiest == nil {
		if exempt == "" {
			exempt = "no pod runs on node " + c.access.node
		}
		result.Exempt, result.Message = exempt, "not judged: "+exempt
		return append(results, result)
	}
	result.Findings, result.Factors, result.Message = worst.Findings, worst.Factors, worst.Reason
	if worst.Scored {
		score := worst.Score
		result.Score = &score
	}
	if c.access.node != "" {
		result.Message = fmt.Sprintf("the riskiest pod that node %s runs is %s/%s: %s", c.access.node, riskiest.namespace, riskiest.name, worst.Reason)
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
		result = c.excuseAccess(result)
	}
	return append(results, result)
}

// judgePod judges one of the pods that an access reaches; why is set if the pod
// is exempt.
func (p *denyPolicy) judgePod(c *call, e *entered) (verdict risk.Verdict, why string, err error) {
	in, why, err := p.riskInput(c, e)
	if why != "" || err != nil {
		return risk.Verdict{}, why, err
	}
	return p.risk.Judge(in), "", nil
}

// riskInput is what the pod is judged by; why is set if the pod is exempt.
func (p *denyPolicy) riskInput(c *call, e *entered) (in risk.Input, why string, err error) {
	// On a node, each pod has a namespace of its own.
	if c.access.node != "" {
		why, exempt, err := p.risk.ExemptNamespace(e.namespace, c.labelsOf(e.namespace))
		if err != nil || exempt {
			return risk.Input{}, why, err
		}
	}
	if why, exempt := p.risk.ExemptPod(e.Meta.Labels); exempt {
		return risk.Input{}, why, nil
	}
	var powers []string
	if p.risk.NeedsPowers() {
		account := e.ServiceAccountName()
		if powers, err = c.request.Cluster.ServiceAccountPowers(c.ctx, e.namespace, account); err != nil {
			return risk.Input{}, "", fmt.Errorf("what service account %s/%s may do cannot be read: %w", e.namespace, account, err)
		}
	}
	container, name := e.containerFor(c)
	return risk.Input{
		Pod: &e.Pod, Assessment: e.assess(), Container: container, ContainerName: name, Powers: powers,
		Namespace: e.namespace, Name: e.name,
		User: c.request.User.Name, Subresource: c.access.point(), Cluster: c.request.ClusterName,
	}, "", nil
}

// unjudged is what follows when the pod, or what its judgement needs, cannot be
// read.
func (p *denyPolicy) unjudged(result decision.Result, err error) decision.Result {
	return p.failMode(result, unread(err))
}

// failMode is where the fail mode of a DenyPolicy is carried out, and the only
// place.
func (p *denyPolicy) failMode(result decision.Result, what string) decision.Result {
	result.Status = decision.Error
	if p.failOpen {
		result.Action = decision.ActionAudit
		result.Message = what + "; failMode open lets the request through"
		return result
	}
	result.FailClosed = true
	result.Message = what + "; failMode closed denies what cannot be judged"
	return result
}
