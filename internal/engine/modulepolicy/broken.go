package modulepolicy

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// ForBroken answers for a policy that is a module and cannot work.
func ForBroken(b *stored.Broken) *Policy {
	p := &Policy{
		Broken: b, Wide: true, Rules: []*WebhookRule{everyRequest()},
		Guest: &runner.Policy{Kind: b.Kind, Namespace: b.Namespace, Name: b.Name},
		Rule: &clusterpolicy.Rule{
			Policy: b.Name, Namespace: b.Namespace, Kind: b.Kind, Name: stored.RuleModule, Autogen: stored.RuleModule, Cronjob: stored.RuleModule,
			Action: decision.Enforce, Background: true,
		},
	}
	spec, ok := b.Spec()
	if !ok {
		b.Answers("every request at the front door%s, as its spec cannot be read", clusterpolicy.Within(b))
		return p
	}
	p.Guest.Server = stored.TextIn(spec, "policyServer")
	p.Rule.IgnoreErrors = stored.TextIn(spec, "failurePolicy") == string(v1alpha1.FailurePolicyIgnore)
	if stored.TextIn(spec, "mode") == string(v1alpha1.ModeMonitor) {
		p.Rule.Action = decision.ActionAudit
	}
	if background, ok := spec["backgroundAudit"].(bool); ok {
		p.Rule.Background = background
	}
	b.Open = p.Rule.Opens()
	unread := false
	if list, _ := spec["rules"].([]any); len(list) > 0 {
		p.Rules = nil
		for _, part := range list {
			rule, read := widestWebhookRule(part)
			p.Rules, unread = append(p.Rules, rule), unread || !read
		}
	} else {
		unread = true
	}
	_, p.Wide = p.resources()
	p.objects = widestSelector(spec["objectSelector"])
	if b.Kind == stored.KindClusterAdmissionPolicy {
		p.Namespaces = widestSelector(spec["namespaceSelector"])
	}
	p.conditions = widestConditions(spec["matchConditions"])
	if unread {
		b.Answers("every request at the front door%s, as its rules cannot be read", clusterpolicy.Within(b))
	} else {
		b.Answers("what its rules are about%s", clusterpolicy.Within(b))
	}
	return p
}

func everyRequest() *WebhookRule {
	return &WebhookRule{
		Groups: []string{stored.Anything}, Resources: []string{"*/*", stored.Anything},
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll}, Scope: admissionregistrationv1.AllScopes,
	}
}

// widestWebhookRule reads a rule. read is false where none of it can be.
func widestWebhookRule(part any) (rule *WebhookRule, read bool) {
	path := field.NewPath("rules")
	if whole, ok := stored.Strictly[admissionregistrationv1.RuleWithOperations](part); ok {
		if rule, errs := compileWebhookRule(&whole, path); len(errs) == 0 {
			return rule, true
		}
	}
	fields, _ := part.(map[string]any)
	kept := AllRules()[0]
	kept.Operations, kept.Resources = []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll}, []string{"*/*", stored.Anything}
	keep := func(name string, change func(r *admissionregistrationv1.RuleWithOperations, list []string)) {
		list, ok := stored.StringsIn(fields[name])
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
	from, _ := stored.Strictly[metav1.LabelSelector](part)
	selector, _ := compileSelector(&from, field.NewPath("selector"))
	return selector
}

// widestConditions keeps those conditions that can be read: each of them narrows.
func widestConditions(part any) *expression.Conditions {
	list, _ := part.([]any)
	var kept []v1alpha1.CELCondition
	path := field.NewPath("matchConditions")
	for i, part := range list {
		one, _ := stored.Strictly[admissionregistrationv1.MatchCondition](part)
		condition := v1alpha1.CELCondition{Name: fmt.Sprintf("%d-%s", i, one.Name), Expression: one.Expression}
		if _, errs := expression.CompileConditions([]v1alpha1.CELCondition{condition}, path); len(errs) == 0 {
			kept = append(kept, condition)
		}
	}
	conditions, _ := expression.CompileConditions(kept, path)
	return conditions
}

// StandsFor is what a policy is answered by in place of its module: itself, or
// the PolicyServer that would run it; nil where the module is asked.
func (p *Policy) StandsFor() *stored.Broken {
	if p.Broken != nil {
		return p.Broken
	}
	return p.stranded
}

// answerBroken appends what follows for a request that the policy is about.
func (p *Policy) answerBroken(base decision.Result, results []decision.Result) []decision.Result {
	open := ""
	if p.Rule.IgnoreErrors {
		open = "failurePolicy Ignore"
	}
	result := p.StandsFor().Answer(base, open)
	if p.Broken == nil {
		result.Message = "PolicyServer " + p.stranded.Name + ", which runs it, is broken: " + result.Message
	}
	return append(results, result)
}

// Strand has the policies of a PolicyServer that cannot work answered by their
// failure policies.
func (s *Set) Strand(b *stored.Broken) {
	n := 0
	for i, p := range s.Modules.All {
		if p.Broken == nil && p.Guest.Server == b.Name {
			// Other sets hold the same policy.
			own := *p
			own.stranded = b
			_, own.Wide = own.resources()
			s.Modules.All[i] = &own
			n++
		}
	}
	s.Servers[b.Name] = true
	if n > 0 {
		b.Answers("what the policies are about that it runs (%d), as the failurePolicy of each says", n)
	}
}
