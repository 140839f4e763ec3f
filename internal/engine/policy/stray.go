package policy

import (
	"fmt"
	"slices"

	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// exceptionEffects say what in exceptions has less effect than it looks, as the
// policies are that there are. More may come later.
func (s *Set) exceptionEffects() stored.Problems {
	var less stored.Problems
	of := s.EffectsOfExceptions()
	for _, p := range s.Excusing.Exceptions() {
		less = append(less, of(p)...)
	}
	return less
}

// EffectsOfExceptions returns what says of an exception what in it has less effect
// than it looks: policies and rules that are not there, and parts that excuse nothing
// which the rules demand.
func (s *Set) EffectsOfExceptions() func(*exception.Exception) stored.Problems {
	return func(p *exception.Exception) stored.Problems {
		var stray stored.Problems
		p.Excepted(func(kind, namespace, ownNamespace, policy string, rules []string) {
			problem := stored.Problem{Kind: p.Names.Kind, Namespace: p.Names.Namespace, Name: p.Names.Name, Path: "spec.exceptions", Reason: effect.NotThere.Reason}
			found := s.named(kind, namespace, ownNamespace, policy)
			if len(found) == 0 {
				problem.Detail = fmt.Sprintf("names the policy %q, which is not there", policy)
				stray = append(stray, problem)
				return
			}
			for _, rule := range rules {
				if !slices.ContainsFunc(found, func(k policyRules) bool { return k.has(rule) }) {
					problem.Detail = fmt.Sprintf("names the rule %q, which policy %q does not have", rule, policy)
					stray = append(stray, problem)
				}
			}
		})
		id := stored.Ref{Kind: p.Names.Kind, Namespace: p.Names.Namespace, Name: p.Names.Name}
		return slices.Concat(stray, id.Said("", p.Effects()), s.idleException(p))
	}
}

// policyRules is a policy with the names of its rules.
type policyRules struct {
	kind, namespace, name string
	rules                 []string
}

func (k *policyRules) named(kind, namespace, ownNamespace, policy string) bool {
	if kind != "" && kind != k.kind || !glob.Match(policy, k.name) {
		return false
	}
	switch {
	case namespace != "":
		return glob.Match(namespace, k.namespace) && k.namespace != ""
	case k.namespace != "":
		return ownNamespace == "" || ownNamespace == k.namespace
	}
	return true
}

// has reports whether a name, or a pattern, is that of a rule, in one of its
// forms.
func (k *policyRules) has(pattern string) bool {
	return slices.ContainsFunc(k.rules, func(name string) bool {
		return glob.Match(pattern, name) || k.kind != stored.KindDenyPolicy && k.kind != identity.KindSource && (glob.Match(pattern, "autogen-"+name) || glob.Match(pattern, "autogen-cronjob-"+name))
	})
}

// Named lists the policies in the set that an exception can mean by a name: kind
// and namespace may be empty, ownNamespace is that of the exception.
func (s *Set) Named(kind, namespace, ownNamespace, policy string) []stored.Ref {
	var found []stored.Ref
	for _, k := range s.named(kind, namespace, ownNamespace, policy) {
		found = append(found, stored.Ref{Kind: k.kind, Namespace: k.namespace, Name: k.name})
	}
	return found
}

func (s *Set) named(kind, namespace, ownNamespace, policy string) []policyRules {
	var candidates []policyRules
	switch {
	case s.names == nil:
		candidates = s.ruleNames()
	case glob.IsPattern(policy):
		candidates = s.names().all
	default:
		candidates = s.names().byName[policy]
	}
	var found []policyRules
	for _, k := range candidates {
		if k.named(kind, namespace, ownNamespace, policy) {
			found = append(found, k)
		}
	}
	return found
}

// policyNames are the rules that can be excused, by the names of their policies too:
// of thousands of exceptions each is looked up.
type policyNames struct {
	all    []policyRules
	byName map[string][]policyRules
}

func (s *Set) indexNames() policyNames {
	names := policyNames{all: s.ruleNames(), byName: map[string][]policyRules{}}
	for _, k := range names.all {
		names.byName[k.name] = append(names.byName[k.name], k)
	}
	return names
}

// ruleNames lists the rules that can be excused.
func (s *Set) ruleNames() []policyRules {
	var all []policyRules
	for _, p := range s.Deny {
		all = append(all, policyRules{kind: stored.KindDenyPolicy, name: p.Name, rules: p.RuleNames()})
	}
	for _, r := range s.rules.All {
		if n := len(all); n > 0 && all[n-1].kind == r.Kind && all[n-1].namespace == r.Namespace && all[n-1].name == r.Policy {
			all[n-1].rules = append(all[n-1].rules, r.Name)
			continue
		}
		all = append(all, policyRules{kind: r.Kind, namespace: r.Namespace, name: r.Policy, rules: []string{r.Name}})
	}
	for _, p := range s.Modules.All {
		all = append(all, policyRules{kind: p.Rule.Kind, namespace: p.Rule.Namespace, name: p.Rule.Policy, rules: []string{stored.RuleModule}})
	}
	for _, name := range append(s.Identity.Names(), identityrule.PolicyValidatedAnnotations) {
		all = append(all, policyRules{kind: identity.KindSource, name: name, rules: identityrule.IdentityRules})
	}
	return all
}
