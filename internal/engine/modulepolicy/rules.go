package modulepolicy

import (
	"sync/atomic"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
)

// AllRules are the rules of a policy that leaves it to its module what it is for:
// every object that is created or changed.
func AllRules() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{stored.Anything}, APIVersions: []string{stored.Anything}, Resources: []string{stored.Anything}},
	}}
}

// NamedRules are the rules that stand in the metadata of a policy's module.
type NamedRules struct{ last atomic.Pointer[rulesOfModule] }

type rulesOfModule struct {
	digest string
	rules  []*WebhookRule
}

// RulesOf are the rules of the policy as they are now. A module that is not there
// yet, or that does not say what it is for, is asked about everything that the
// policy's own rules are about.
func (p *Policy) RulesOf(modules Modules) []*WebhookRule {
	if p.Named == nil || modules == nil {
		return p.Rules
	}
	info, err := modules.Status(p.Guest)
	if err != nil || len(info.Rules) == 0 {
		return p.Rules
	}
	last := p.Named.last.Load()
	if last == nil || last.digest != info.Digest {
		last = &rulesOfModule{digest: info.Digest, rules: p.compileNamed(info.Rules)}
		p.Named.last.Store(last)
	}
	return last.rules
}

// compileNamed reads rules of metadata. If one of them makes no sense, none is
// held to.
func (p *Policy) compileNamed(from []module.Rule) []*WebhookRule {
	rules := make([]*WebhookRule, len(from))
	for i, r := range from {
		written := RuleOf(r)
		compiled, errs := compileWebhookRule(&written, field.NewPath("rules").Index(i))
		if len(errs) > 0 {
			return p.Rules
		}
		rules[i] = compiled
	}
	return rules
}

// RuleOf is a rule of a module's metadata as a policy has it.
func RuleOf(r module.Rule) admissionregistrationv1.RuleWithOperations {
	rule := admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{
		APIGroups: r.APIGroups, APIVersions: r.APIVersions, Resources: r.Resources,
	}}
	for _, o := range r.Operations {
		rule.Operations = append(rule.Operations, admissionregistrationv1.OperationType(o))
	}
	if r.Scope != "" {
		scope := admissionregistrationv1.ScopeType(r.Scope)
		rule.Scope = &scope
	}
	return rule
}
