package deny

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
)

// WholeRuleNames are the names of the rules that an exception of every kind excuses
// wholly: kinds without a subresource mean pods with all ways into them, and of other
// resources these themselves.
func (p *Policy) WholeRuleNames() []string {
	names := p.RuleNames()
	for i, r := range p.Rules {
		if len(r.Written.Subresources) > 0 || builtin.NamesSubresources(r.Written.Resources) {
			names = slices.DeleteFunc(names, func(name string) bool { return name == ruleAt(i) })
		}
	}
	return names
}

// NamespacedRule reports whether what a rule is about is in namespaces, as far as it can
// be: a list of all namespaces is about none.
func (p *Policy) NamespacedRule(name string) bool {
	if name == stored.RulePodSecurity {
		return true
	}
	for i, r := range p.Rules {
		if name == ruleAt(i) {
			return builtin.AllNamespaced(r.Written.APIGroups, r.Written.Resources)
		}
	}
	return false
}

// Nowhere says of each part of the policy that it is about no namespace that there is.
func (p *Policy) Nowhere(namespaces []*corev1.Namespace, say func(path, detail string)) {
	for i, r := range p.Rules {
		if r.namespaces != nil && !slices.ContainsFunc(namespaces, func(n *corev1.Namespace) bool { return r.selects(n.Name, n.Labels) }) {
			say(fmt.Sprintf("spec.rules[%d].namespaces", i), fmt.Sprintf("selects none of the %d namespaces that there are", len(namespaces)))
		}
	}
	// What exempts every namespace that there can be is said of the policy itself.
	if p.Risk == nil || Exempts(p, "", nil) || len(namespaces) == 0 {
		return
	}
	if !slices.ContainsFunc(namespaces, func(n *corev1.Namespace) bool { return !Exempts(p, n.Name, n.Labels) }) {
		say("spec.podSecurityRules.exemptions.namespaces", fmt.Sprintf("exempts each of the %d namespaces that there are", len(namespaces)))
	}
}
