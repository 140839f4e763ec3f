package deny

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
)

const defaultPrecedence = 100

// Policy is a compiled DenyPolicy.
type Policy struct {
	Name string
	// Place among the DenyPolicies of the set.
	Place      int
	Precedence int32
	Scope      Scope
	Rules      []*Rule
	Risk       *risk.Rules
	failOpen   bool
	// Action is what follows where the policy denies.
	Action decision.Action
	// Broken is set for one that cannot work, and named then names its rules.
	Broken *stored.Broken
	named  []string
}

// Compile compiles a DenyPolicy; it is nil where there are errors.
func Compile(p *v1alpha1.DenyPolicy) (*Policy, field.ErrorList) {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	compiled := &Policy{Name: p.Name, Precedence: defaultPrecedence}
	action, err := stored.Action(p.Spec.EnforcementAction, spec.Child("enforcementAction"))
	if compiled.Action = action; err != nil {
		errs = append(errs, err)
	}
	if p.Spec.Precedence != nil {
		compiled.Precedence = *p.Spec.Precedence
	}
	if len(p.Spec.Rules) == 0 && p.Spec.PodSecurityRules == nil {
		errs = append(errs, field.Required(spec, "denies nothing; give rules or podSecurityRules"))
	}
	var more field.ErrorList
	compiled.Scope, more = compileScope(p.Spec.AppliesTo, spec.Child("appliesTo"))
	errs = append(errs, more...)
	for i := range p.Spec.Rules {
		rule, more := CompileDenyRule(&p.Spec.Rules[i], spec.Child("rules").Index(i))
		errs = append(errs, more...)
		compiled.Rules = append(compiled.Rules, rule)
	}
	if len(errs) == 0 && compiled.locksOut(p.Spec.AppliesTo) {
		errs = append(errs, effect.LocksOut.Error(spec.Child("rules"), "", p.Name))
	}
	if p.Spec.PodSecurityRules != nil {
		compiled.Risk, more = risk.Compile(p.Spec.PodSecurityRules, spec.Child("podSecurityRules"))
		errs = append(errs, more...)
		compiled.failOpen = p.Spec.PodSecurityRules.FailMode == v1alpha1.FailOpen
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return compiled, nil
}

// DecideRules appends a result if one of the rules, those about what is asked for,
// denies the request.
func (p *Policy) DecideRules(c *call.Call, rules []int, results []decision.Result) []decision.Result {
	from := len(results)
	results = p.decideRules(c, rules, results)
	stored.Settle(results[from:])
	return results
}

func (p *Policy) decideRules(c *call.Call, rules []int, results []decision.Result) []decision.Result {
	if p.Broken != nil && stored.Spared(c.Request) {
		return results
	}
	for _, i := range rules {
		if p.Rules[i].wide && stored.Beside(c.Request) {
			continue
		}
		matched, err := p.Rules[i].asks(c.Request, c.LabelsOf)
		if err == nil && !matched {
			continue
		}
		result := decision.Result{
			Policy: p.Name, Rule: "rules[" + strconv.Itoa(i) + "]", Kind: stored.KindDenyPolicy,
			Resource: c.Resource(), Status: decision.Fail, Action: p.Action, Source: c.Request.Source,
		}
		if p.Broken != nil {
			result.Rule = p.named[i]
			result = p.answerBroken(result)
		} else if err != nil {
			result = p.failMode(result, call.Unread(err))
		} else {
			result.Message = Describe(c.Request) + " is denied by rule " + strconv.Itoa(i)
			result = c.ExcuseAccess(result)
		}
		results = append(results, result)
		// A rule that is excused leaves those after it to speak.
		if result.Status != decision.Skip {
			return results
		}
	}
	return results
}

// Describe says in words what a request wants, for messages: "delete of
// namespaces prod".
func Describe(r *request.Request) string {
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
