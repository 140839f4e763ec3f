package policy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// wholeRuleNames are the names of the rules that an exception of every kind excuses
// wholly: kinds without a subresource mean pods with all ways into them, and of other
// resources these themselves.
func (p *denyPolicy) wholeRuleNames() []string {
	names := p.ruleNames()
	for i, r := range p.rules {
		if len(r.written.Subresources) > 0 || namesSubresources(r.written.Resources) {
			names = slices.DeleteFunc(names, func(name string) bool { return name == ruleAt(i) })
		}
	}
	return names
}

// namespacedRule reports whether what a rule is about is in namespaces, as far as it can
// be: a list of all namespaces is about none.
func (p *denyPolicy) namespacedRule(name string) bool {
	if name == RulePodSecurity {
		return true
	}
	for i, r := range p.rules {
		if name == ruleAt(i) {
			return allNamespaced(r.written.APIGroups, r.written.Resources)
		}
	}
	return false
}

// nowhere says of each part of the policy that it is about no namespace that there is.
func (p *denyPolicy) nowhere(namespaces []*corev1.Namespace, say func(path, detail string)) {
	for i, r := range p.rules {
		if r.namespaces != nil && !slices.ContainsFunc(namespaces, func(n *corev1.Namespace) bool { return r.selects(n.Name, n.Labels) }) {
			say(fmt.Sprintf("spec.rules[%d].namespaces", i), fmt.Sprintf("selects none of the %d namespaces that there are", len(namespaces)))
		}
	}
	// What exempts every namespace that there can be is said of the policy itself.
	if p.risk == nil || exempts(p, "", nil) || len(namespaces) == 0 {
		return
	}
	if !slices.ContainsFunc(namespaces, func(n *corev1.Namespace) bool { return !exempts(p, n.Name, n.Labels) }) {
		say("spec.podSecurityRules.exemptions.namespaces", fmt.Sprintf("exempts each of the %d namespaces that there are", len(namespaces)))
	}
}
