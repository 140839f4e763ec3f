package policy

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
)

const defaultPrecedence = 100

// denyPolicy is a compiled DenyPolicy.
type denyPolicy struct {
	name string
	// place among the DenyPolicies of the set.
	place      int
	precedence int32
	scope      scope
	rules      []*denyRule
	risk       *risk.Rules
	failOpen   bool
	// broken is set for one that cannot work, and named then names its rules.
	broken *Broken
	named  []string
}

func compileDenyPolicy(p *v1alpha1.DenyPolicy) (*denyPolicy, field.ErrorList) {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	compiled := &denyPolicy{name: p.Name, precedence: defaultPrecedence}
	if p.Spec.Precedence != nil {
		compiled.precedence = *p.Spec.Precedence
	}
	if len(p.Spec.Rules) == 0 && p.Spec.PodSecurityRules == nil {
		errs = append(errs, field.Required(spec, "denies nothing; give rules or podSecurityRules"))
	}
	var more field.ErrorList
	compiled.scope, more = compileScope(p.Spec.AppliesTo, spec.Child("appliesTo"))
	errs = append(errs, more...)
	for i := range p.Spec.Rules {
		rule, more := compileDenyRule(&p.Spec.Rules[i], spec.Child("rules").Index(i))
		errs = append(errs, more...)
		compiled.rules = append(compiled.rules, rule)
	}
	if len(errs) == 0 && compiled.locksOut(p.Spec.AppliesTo) {
		errs = append(errs, effect.LocksOut.Error(spec.Child("rules"), "", p.Name))
	}
	if p.Spec.PodSecurityRules != nil {
		compiled.risk, more = risk.Compile(p.Spec.PodSecurityRules, spec.Child("podSecurityRules"))
		errs = append(errs, more...)
		compiled.failOpen = p.Spec.PodSecurityRules.FailMode == v1alpha1.FailOpen
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return compiled, nil
}

// decideRules appends a result if one of the rules, those about what is asked for,
// denies the request.
func (p *denyPolicy) decideRules(c *call, rules []int, results []decision.Result) []decision.Result {
	if p.broken != nil && spared(c.request) {
		return results
	}
	for _, i := range rules {
		if p.rules[i].wide && beside(c.request) {
			continue
		}
		matched, err := p.rules[i].asks(c.request, c.labelsOf)
		if err == nil && !matched {
			continue
		}
		result := decision.Result{
			Policy: p.name, Rule: "rules[" + strconv.Itoa(i) + "]", Kind: KindDenyPolicy,
			Resource: c.resource(), Status: decision.Fail, Action: decision.Enforce, Source: c.request.Source,
		}
		if p.broken != nil {
			result.Rule = p.named[i]
			result = p.answerBroken(result)
		} else if err != nil {
			result = p.failMode(result, unread(err))
		} else {
			result.Message = describe(c.request) + " is denied by rule " + strconv.Itoa(i)
			result = c.excuseAccess(result)
		}
		results = append(results, result)
		// A rule that is excused leaves those after it to speak.
		if result.Status != decision.Skip {
			return results
		}
	}
	return results
}

// describe says in words what a request wants, for messages: "delete of
// namespaces prod".
func describe(r *request.Request) string {
	what := r.Verb
	if r.Door == request.Admission {
		what = string(r.Operation)
	}
	resource := r.Resource.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	text := what + " of " + resource
	if what == "" {
		text = "a request about " + resource
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" && r.Resource.Resource != "namespaces" {
		text += " in namespace " + r.Namespace
	}
	return text
}
