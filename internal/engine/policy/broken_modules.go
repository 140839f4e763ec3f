package policy

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/wasm/guest"
)

// modulePolicy answers for a policy that is a module and cannot work.
func (b *Broken) modulePolicy() *modulePolicy {
	p := &modulePolicy{
		broken: b, wide: true, rules: []*webhookRule{everyRequest()},
		guest: &guest.Policy{Kind: b.Kind, Namespace: b.Namespace, Name: b.Name},
		rule: &rule{
			policy: b.Name, namespace: b.Namespace, kind: b.Kind, name: RuleModule, autogen: RuleModule, cronjob: RuleModule,
			action: decision.Enforce, background: true,
		},
	}
	spec, ok := b.spec()
	if !ok {
		b.answers("every request at the front door%s, as its spec cannot be read", b.within())
		return p
	}
	p.guest.Server = textIn(spec, "policyServer")
	p.rule.ignoreErrors = textIn(spec, "failurePolicy") == string(v1alpha1.FailurePolicyIgnore)
	if textIn(spec, "mode") == string(v1alpha1.ModeMonitor) {
		p.rule.action = decision.ActionAudit
	}
	if background, ok := spec["backgroundAudit"].(bool); ok {
		p.rule.background = background
	}
	b.open = p.rule.opens()
	unread := false
	if list, _ := spec["rules"].([]any); len(list) > 0 {
		p.rules = nil
		for _, part := range list {
			rule, read := widestWebhookRule(part)
			p.rules, unread = append(p.rules, rule), unread || !read
		}
	} else {
		unread = true
	}
	_, p.wide = p.resources()
	p.objects = widestSelector(spec["objectSelector"])
	if b.Kind == KindClusterAdmissionPolicy {
		p.namespaces = widestSelector(spec["namespaceSelector"])
	}
	p.conditions = widestConditions(spec["matchConditions"])
	if unread {
		b.answers("every request at the front door%s, as its rules cannot be read", b.within())
	} else {
		b.answers("what its rules are about%s", b.within())
	}
	return p
}

func everyRequest() *webhookRule {
	return &webhookRule{
		groups: []string{anything}, resources: []string{"*/*", anything},
		operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll}, scope: admissionregistrationv1.AllScopes,
	}
}

// widestWebhookRule reads a rule. read is false where none of it can be.
func widestWebhookRule(part any) (rule *webhookRule, read bool) {
	path := field.NewPath("rules")
	if whole, ok := strictly[admissionregistrationv1.RuleWithOperations](part); ok {
		if rule, errs := compileWebhookRule(&whole, path); len(errs) == 0 {
			return rule, true
		}
	}
	fields, _ := part.(map[string]any)
	kept := AllRules()[0]
	kept.Operations, kept.Resources = []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll}, []string{"*/*", anything}
	keep := func(name string, change func(r *admissionregistrationv1.RuleWithOperations, list []string)) {
		list, ok := stringsIn(fields[name])
		if !ok {
			return
		}
		tried := kept
		change(&tried, list)
		if _, errs := compileWebhookRule(&tried, path); len(errs) == 0 {
			kept, read = tried, true
		}
	}
	keep("operations", func(r *admissionregistrationv1.RuleWithOperations, list []string) {
		r.Operations = nil
		for _, operation := range list {
			r.Operations = append(r.Operations, admissionregistrationv1.OperationType(operation))
		}
	})
	keep("apiGroups", func(r *admissionregistrationv1.RuleWithOperations, list []string) { r.APIGroups = list })
	keep("resources", func(r *admissionregistrationv1.RuleWithOperations, list []string) { r.Resources = list })
	if scope, ok := fields["scope"].(string); ok {
		keep("scope", func(r *admissionregistrationv1.RuleWithOperations, _ []string) {
			r.Scope = (*admissionregistrationv1.ScopeType)(&scope)
		})
	}
	rule, errs := compileWebhookRule(&kept, path)
	if len(errs) > 0 || !read {
		return everyRequest(), false
	}
	return rule, true
}

// widestSelector is nil, which selects everything, where a selector cannot be read.
func widestSelector(part any) labels.Selector {
	from, _ := strictly[metav1.LabelSelector](part)
	selector, _ := compileSelector(&from, field.NewPath("selector"))
	return selector
}

// widestConditions keeps those conditions that can be read: each of them narrows.
func widestConditions(part any) *expression.Conditions {
	list, _ := part.([]any)
	var kept []v1alpha1.CELCondition
	path := field.NewPath("matchConditions")
	for i, part := range list {
		one, _ := strictly[admissionregistrationv1.MatchCondition](part)
		condition := v1alpha1.CELCondition{Name: fmt.Sprintf("%d-%s", i, one.Name), Expression: one.Expression}
		if _, errs := expression.CompileConditions([]v1alpha1.CELCondition{condition}, path); len(errs) == 0 {
			kept = append(kept, condition)
		}
	}
	conditions, _ := expression.CompileConditions(kept, path)
	return conditions
}

// standsFor is what a policy is answered by in place of its module: itself, or
// the PolicyServer that would run it; nil where the module is asked.
func (p *modulePolicy) standsFor() *Broken {
	if p.broken != nil {
		return p.broken
	}
	return p.stranded
}

// answerBroken appends what follows for a request that the policy is about.
func (p *modulePolicy) answerBroken(base decision.Result, results []decision.Result) []decision.Result {
	open := ""
	if p.rule.ignoreErrors {
		open = "failurePolicy Ignore"
	}
	result := p.standsFor().answer(base, open)
	if p.broken == nil {
		result.Message = "PolicyServer " + p.stranded.Name + ", which runs it, is broken: " + result.Message
	}
	return append(results, result)
}

// strand has the policies of a PolicyServer that cannot work answered by their
// failure policies.
func (s *moduleSet) strand(b *Broken) {
	n := 0
	for i, p := range s.modules.all {
		if p.broken == nil && p.guest.Server == b.Name {
			// Other sets hold the same policy.
			own := *p
			own.stranded = b
			_, own.wide = own.resources()
			s.modules.all[i] = &own
			n++
		}
	}
	s.servers[b.Name] = true
	if n > 0 {
		b.answers("what the policies are about that it runs (%d), as the failurePolicy of each says", n)
	}
}
