package deny

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
)

// waysIntoPods are what a DenyPolicy is taken to be about where that cannot be
// read: the ways in, and logs.
var waysIntoPods = func() []string {
	var ways []string
	for i := range IntoPodsBy {
		ways = append(ways, IntoPodsBy[i].String())
	}
	return append(ways, "pods/log")
}()

func intoPods() *Rule {
	rule, _ := CompileDenyRule(&v1alpha1.DenyRule{Verbs: []string{stored.Anything}, APIGroups: []string{""}, Resources: waysIntoPods}, field.NewPath("rules"))
	return rule
}

// ForBroken answers for a DenyPolicy that cannot work.
func ForBroken(b *stored.Broken) *Policy {
	p := &Policy{Name: b.Name, Precedence: defaultPrecedence, Broken: b}
	spec, ok := b.Spec()
	p.Action = stored.ActionOf(spec)
	if !ok {
		p.answersFor(stored.RuleWorks, intoPods())
		b.Answers("every way into a pod (%s), as its spec cannot be read", strings.Join(waysIntoPods, ", "))
		return p
	}
	if precedence, ok := stored.Strictly[int32](spec["precedence"]); ok {
		p.Precedence = precedence
	}
	p.Scope = widestScope(spec["appliesTo"])
	security, given := spec["podSecurityRules"]
	if rules, ok := security.(map[string]any); ok {
		p.failOpen = stored.TextIn(rules, "failMode") == string(v1alpha1.FailOpen)
	}
	b.Open = p.failOpen || p.Action != decision.Enforce
	rules, listed := spec["rules"].([]any)
	for i, part := range rules {
		rule, read := widestDenyRule(part)
		name := fmt.Sprintf("rules[%d]", i)
		p.answersFor(name, rule)
		if read {
			b.Answers("what %s is about", name)
		} else {
			b.Answers("every way into a pod, as %s cannot be read", name)
		}
	}
	p.Risk = widestRisk(b, security)
	switch {
	case p.Risk != nil:
		var points []string
		for _, point := range AccessPoints {
			if p.Risk.CoversPoint(point) {
				points = append(points, point)
			}
		}
		b.Answers("%s, unless exempt", strings.Join(points, ", "))
	case given:
		p.answersFor(stored.RulePodSecurity, intoPods())
		b.Answers("every way into a pod, as podSecurityRules cannot be read")
	}
	_, some := spec["rules"]
	if some && !listed || len(p.Rules) == 0 && p.Risk == nil || !stored.OnlyKnown(spec, "appliesTo", "rules", "podSecurityRules", "precedence", "enforcementAction") {
		p.answersFor(stored.RuleWorks, intoPods())
		b.Answers("every way into a pod, as it cannot be read what else it is about")
	}
	return p
}

func (p *Policy) answersFor(name string, rule *Rule) {
	p.Rules, p.named = append(p.Rules, rule), append(p.named, name)
}

// widestScope reads the lists of appliesTo that can be read.
func widestScope(part any) Scope {
	path := field.NewPath("appliesTo")
	lists, _ := part.(map[string]any)
	var kept v1alpha1.DenyPolicyScope
	for name, into := range map[string]*[]string{"clusters": &kept.Clusters, "tenants": &kept.Tenants, "escalationRefs": &kept.EscalationRefs, "sessions": &kept.Sessions} {
		list, _ := stored.StringsIn(lists[name])
		if _, errs := compileScope(&v1alpha1.DenyPolicyScope{Clusters: list}, path); len(errs) == 0 {
			*into = list
		}
	}
	// Where none can be read, it is the scope of a policy that has none.
	s, _ := compileScope(&kept, path)
	return s
}

// widestDenyRule reads a rule. read is false where neither verbs nor resources can
// be read, so that it is taken for what DenyPolicies are mostly about.
func widestDenyRule(part any) (rule *Rule, read bool) {
	path := field.NewPath("rules")
	if whole, ok := stored.Strictly[v1alpha1.DenyRule](part); ok {
		if rule, errs := CompileDenyRule(&whole, path); len(errs) == 0 {
			return rule, true
		}
	}
	fields, _ := part.(map[string]any)
	kept := v1alpha1.DenyRule{Verbs: []string{stored.Anything}, APIGroups: []string{stored.Anything}, Resources: []string{stored.Anything}}
	keep := func(change func(*v1alpha1.DenyRule)) bool {
		tried := kept
		change(&tried)
		if _, errs := CompileDenyRule(&tried, path); len(errs) > 0 {
			return false
		}
		kept = tried
		return true
	}
	keepList := func(name string, into func(*v1alpha1.DenyRule) *[]string) bool {
		list, ok := stored.StringsIn(fields[name])
		return ok && keep(func(r *v1alpha1.DenyRule) { *into(r) = list })
	}
	keepList("apiGroups", func(r *v1alpha1.DenyRule) *[]string { return &r.APIGroups })
	verbs := keepList("verbs", func(r *v1alpha1.DenyRule) *[]string { return &r.Verbs })
	resources := keepList("resources", func(r *v1alpha1.DenyRule) *[]string { return &r.Resources })
	if !verbs && !resources {
		return intoPods(), false
	}
	if _, given := fields["subresources"]; given && resources && !keepList("subresources", func(r *v1alpha1.DenyRule) *[]string { return &r.Subresources }) {
		all := slices.Clone(kept.Resources)
		for _, resource := range kept.Resources {
			if !strings.Contains(resource, "/") {
				all = append(all, resource+"/"+stored.Anything)
			}
		}
		keep(func(r *v1alpha1.DenyRule) { r.Resources = all })
	}
	keepList("resourceNames", func(r *v1alpha1.DenyRule) *[]string { return &r.ResourceNames })
	if namespaces, ok := stored.Strictly[*v1alpha1.NamespaceFilter](fields["namespaces"]); ok {
		keep(func(r *v1alpha1.DenyRule) { r.Namespaces = namespaces })
	}
	rule, errs := CompileDenyRule(&kept, path)
	if len(errs) > 0 {
		return intoPods(), false
	}
	rule.wide = !resources
	return rule, true
}

// widestRisk reads which accesses podSecurityRules are about, and which pods they
// exempt; nil where there are no such rules.
func widestRisk(b *stored.Broken, part any) *risk.Rules {
	fields, ok := part.(map[string]any)
	if !ok {
		return nil
	}
	kept := v1alpha1.PodSecurityRules{Thresholds: []v1alpha1.RiskThreshold{{MaxScore: ptr.To[int32](0), Action: v1alpha1.ActionDeny}}}
	compile := func() (*risk.Rules, bool) {
		rules, errs := risk.Compile(&kept, field.NewPath("podSecurityRules"))
		return rules, len(errs) == 0
	}
	if scope, given := fields["appliesTo"]; given {
		var read bool
		if kept.AppliesTo, read = stored.Strictly[*v1alpha1.PodSecurityScope](scope); read {
			_, read = compile()
		}
		if !read {
			kept.AppliesTo = &v1alpha1.PodSecurityScope{Subresources: AccessPoints}
		}
	}
	exempt, _ := fields["exemptions"].(map[string]any)
	kept.Exemptions = &v1alpha1.PodSecurityExemptions{}
	if namespaces, ok := stored.Strictly[*v1alpha1.NamespaceFilter](exempt["namespaces"]); ok {
		if _, errs := match.CompileNamespaces(namespaces, field.NewPath("namespaces")); len(errs) == 0 {
			kept.Exemptions.Namespaces = namespaces
		}
	}
	if labels, ok := stored.Strictly[map[string]string](exempt["podLabels"]); ok {
		kept.Exemptions.PodLabels = labels
	}
	if rules, ok := compile(); ok {
		return rules
	}
	kept.Exemptions.PodLabels = nil
	if rules, ok := compile(); ok {
		return rules
	}
	kept.Exemptions = nil
	rules, _ := compile()
	return rules
}

// answerBroken says of a request that a broken policy is about what follows.
func (p *Policy) answerBroken(result decision.Result) decision.Result {
	if p.failOpen {
		return p.Broken.Answer(result, "failMode open")
	}
	result.FailClosed = p.Action == decision.Enforce
	return p.Broken.Answer(result, "")
}

// decideBroken is DecideRisk of a policy that cannot work: no pod is judged, and
// those that are exempt still are.
func (p *Policy) decideBroken(c *call.Call, result decision.Result, results []decision.Result) []decision.Result {
	if c.Access.Node == "" {
		why, exempt, err := p.Risk.ExemptNamespace(c.Access.Namespace, c.LabelsOf(c.Access.Namespace))
		if err == nil && exempt {
			result.Exempt, result.Message = why, "not judged: "+why
			return append(results, result)
		}
	}
	answer := func() []decision.Result { return append(results, p.answerBroken(result)) }
	if len(p.Risk.ExemptLabels()) == 0 && c.Access.Node == "" {
		return answer()
	}
	pods, err := c.EnteredPods()
	if err != nil {
		return answer()
	}
	exempt := ""
	for i := range pods {
		_, why, err := p.riskInput(c, &pods[i])
		if err != nil || why == "" {
			return answer()
		}
		exempt = why
	}
	if exempt == "" {
		exempt = "no pod runs on node " + c.Access.Node
	}
	result.Exempt, result.Message = exempt, "not judged: "+exempt
	return append(results, result)
}
