package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
)

// idleException says which parts of an exception excuse nothing that the rules demand
// which it names. What a policy demands by the labels of a namespace is not known.
func (s *Set) idleException(p *exception.Exception) stored.Problems {
	if p.PodSecurity.Empty() {
		return nil
	}
	named := s.excusedBy(p)
	if len(named) == 0 {
		return nil
	}
	var demanded []*standard.Standard
	for _, r := range named {
		body, ok := r.Body.(*clusterpolicy.StandardRule)
		switch {
		case r.Broken != nil || ok && body.Fixed == nil:
			return nil
		case ok:
			demanded = append(demanded, body.Fixed)
		}
	}
	at := field.NewPath("spec", "podSecurity")
	id := stored.Ref{Kind: p.Names.Kind, Namespace: p.Names.Namespace, Name: p.Names.Name}
	if len(demanded) == 0 {
		return id.Said("", []effect.Note{effect.ExceptionIdle.Note(at, "excuses nothing: no rule that the exception names demands a Pod Security Standard; leave podSecurity out to excuse the rules whole")})
	}
	return id.Said("", clusterpolicy.ExclusionsIdle(effect.ExceptionIdle, p.PodSecurity, at, demanded...))
}

// excusedBy lists the rules of ClusterPolicies and Policies that an exception names.
func (s *Set) excusedBy(p *exception.Exception) []*clusterpolicy.Rule {
	var found []*clusterpolicy.Rule
	p.Excepted(func(kind, namespace, ownNamespace, policy string, rules []string) {
		for _, r := range s.rules.All {
			k := policyRules{kind: r.Kind, namespace: r.Namespace, name: r.Policy, rules: []string{r.Name}}
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
