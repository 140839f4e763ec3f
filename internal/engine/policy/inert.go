package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// Surroundings are what a policy can come to nothing by, beside what is written in it.
type Surroundings struct {
	Now time.Time
	// Namespaces are those that there are; nil where that is not known, as of further
	// clusters.
	Namespaces []*corev1.Namespace
	// Unguarded are the names of those about which the front door is not asked.
	Unguarded []string
}

// reached says whether something is about a namespace that there is, and about one that
// is asked about. Where namespaces are not known, it is.
func (in *Surroundings) reached(about func(*corev1.Namespace) bool) (somewhere, guarded bool) {
	if in.Namespaces == nil {
		return true, true
	}
	for _, n := range in.Namespaces {
		if !about(n) {
			continue
		}
		if somewhere = true; !slices.Contains(in.Unguarded, n.Name) {
			return true, true
		}
	}
	return somewhere, false
}

// Inert says of the policies that hold nobody to something, as things are, why: an
// exception excuses all of a rule, or a rule is about no namespace that there is, or only
// about those that are not asked about. Each may change without the policy. What cannot
// work is left out. next is when exceptions change that next by themselves; zero for
// never.
func (s *Set) Inert(in *Surroundings) (inert map[PolicyRef]Problems, next time.Time) {
	inert = map[PolicyRef]Problems{}
	say := func(ref PolicyRef, rule *effect.Rule, path, format string, args ...any) {
		problem := objectID{ref.Kind, ref.Namespace, ref.Name}.problem("")
		problem.Path, problem.Detail, problem.Reason = path, fmt.Sprintf(format, args...), rule.Reason
		inert[ref] = append(inert[ref], problem)
	}
	wide := s.passes.Wide()
	unguarded := "is only about namespaces that webhooks leave out by their names (" + strings.Join(in.Unguarded, ", ") + "), so that nobody is asked about them"
	excused := func(ref PolicyRef, rules []string, what pass.Excused) {
		for _, name := range rules {
			q := &pass.Query{PolicyKind: ref.Kind, PolicyNamespace: ref.Namespace, Policy: ref.Name, Rule: name, BaseRule: name, Now: in.Now}
			if by, left := wide.Excusing(q, &what); by != nil {
				say(ref, effect.Excused, "", "rule %s holds no one to anything%s: all that it is about is excused by %s", name, left, &by.Names)
			}
		}
	}
	for _, p := range s.deny {
		ref := PolicyRef{KindDenyPolicy, "", p.name}
		if p.broken != nil {
			continue
		}
		for _, name := range p.wholeRuleNames() {
			excused(ref, []string{name}, pass.Excused{Somewhere: p.namespacedRule(name)})
		}
		if in.Namespaces != nil {
			p.nowhere(in.Namespaces, func(path, detail string) { say(ref, effect.NothingThere, path, "%s", detail) })
		}
	}
	for _, r := range s.rules.all {
		if r.broken != nil {
			continue
		}
		ref := PolicyRef{r.kind, r.namespace, r.policy}
		// What makes pods may be of any kind, and in no namespace.
		makes := r.generated.on
		excused(ref, []string{r.name}, pass.Excused{Match: r.match, In: match.Space{Rule: true, Namespace: r.namespace, EveryKind: makes, MayBeInNone: makes}})
		switch somewhere, guarded := s.narrowed[r].reached(in); {
		case !somewhere:
			say(ref, effect.NothingThere, "", "rule %s is about no namespace that there is: match, without exclude, selects none of %d", r.name, len(in.Namespaces))
		case !guarded:
			say(ref, effect.NotGuarded, "", "rule %s %s", r.name, unguarded)
		}
	}
	for _, p := range s.modules.all {
		if p.broken != nil {
			continue
		}
		ref := PolicyRef{p.rule.kind, p.rule.namespace, p.rule.policy}
		if !slices.ContainsFunc(p.rules, func(w *webhookRule) bool { return namesSubresources(w.resources) }) {
			excused(ref, []string{RuleModule}, p.excused())
		}
		switch somewhere, guarded := p.reached(in); {
		case !somewhere:
			say(ref, effect.NothingThere, "spec.namespaceSelector", "selects none of the %d namespaces that there are", len(in.Namespaces))
		case !guarded:
			say(ref, effect.NotGuarded, "spec.namespaceSelector", "%s", unguarded)
		}
	}
	for _, name := range s.identities.Names() {
		excused(PolicyRef{identity.KindSource, "", name}, identityRules, pass.Excused{Somewhere: true})
	}
	return inert, wide.Next(in.Now)
}

// reached says whether the rule is about something in a namespace that there is, and in
// one that is asked about. What does not go by namespaces, or may be in none, is.
func (r *ruleReach) reached(in *Surroundings) (somewhere, guarded bool) {
	if r == nil || r.namespace == "" && r.reach.MayBeInNone() {
		return true, true
	}
	return in.reached(func(n *corev1.Namespace) bool {
		return (r.namespace == "" || r.namespace == n.Name) && r.reach.InNamespace(n.Name, n.Labels)
	})
}

// reached says the same of a module, which goes by namespaceSelector.
func (p *modulePolicy) reached(in *Surroundings) (somewhere, guarded bool) {
	if p.namespaces == nil || slices.ContainsFunc(p.rules, func(w *webhookRule) bool {
		return w.scope != admissionregistrationv1.NamespacedScope && !w.knownNamespaced()
	}) {
		return true, true
	}
	return in.reached(func(n *corev1.Namespace) bool { return p.namespaces.Matches(labels.Set(n.Labels)) })
}
