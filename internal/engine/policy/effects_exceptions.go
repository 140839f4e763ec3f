package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
)

// idleException says which parts of an exception excuse nothing that the rules demand
// which it names. What a policy demands by the labels of a namespace is not known.
func (s *Set) idleException(p *pass.Pass) Problems {
	if p.PodSecurity.Empty() {
		return nil
	}
	named := s.excusedBy(p)
	if len(named) == 0 {
		return nil
	}
	var demanded []*standard.Standard
	for _, r := range named {
		body, ok := r.body.(*standardRule)
		switch {
		case r.broken != nil || ok && body.fixed == nil:
			return nil
		case ok:
			demanded = append(demanded, body.fixed)
		}
	}
	at := field.NewPath("spec", "podSecurity")
	id := objectID{p.Names.Kind, p.Names.Namespace, p.Names.Name}
	if len(demanded) == 0 {
		return id.said("", []effect.Note{effect.ExceptionIdle.Note(at, "excuses nothing: no rule that the exception names demands a Pod Security Standard; leave podSecurity out to excuse the rules whole")})
	}
	return id.said("", exclusionsIdle(effect.ExceptionIdle, p.PodSecurity, at, demanded...))
}

// excusedBy lists the rules of ClusterPolicies and Policies that an exception names.
func (s *Set) excusedBy(p *pass.Pass) []*rule {
	var found []*rule
	p.Excepted(func(kind, namespace, ownNamespace, policy string, rules []string) {
		for _, r := range s.rules.all {
			k := policyRules{kind: r.kind, namespace: r.namespace, name: r.policy, rules: []string{r.name}}
			if !k.named(kind, namespace, ownNamespace, policy) {
				continue
			}
			if len(rules) == 0 || slices.ContainsFunc(rules, k.has) {
				found = append(found, r)
			}
		}
	})
	return found
}
