package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sallyport-io/sallyport/internal/effect"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/match"
	"github.com/sallyport-io/sallyport/internal/pass"
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

// guarded are the namespaces without those that are not asked about.
func (in *Surroundings) guarded() []*corev1.Namespace {
	return slices.DeleteFunc(slices.Clone(in.Namespaces), func(n *corev1.Namespace) bool { return slices.Contains(in.Unguarded, n.Name) })
}

// Inert says of the policies that hold nobody to something, as things are, why: an
// exception excuses all of a rule, or a rule is about no namespace that there is. Either
// may change without the policy. What cannot work is left out. next is when exceptions
// change that next by themselves; zero for never.
func (s *Set) Inert(in *Surroundings) (inert map[PolicyRef]Problems, next time.Time) {
	inert = map[PolicyRef]Problems{}
	say := func(ref PolicyRef, rule *effect.Rule, path, format string, args ...any) {
		problem := objectID{ref.Kind, ref.Namespace, ref.Name}.problem("")
		problem.Path, problem.Detail, problem.Reason = path, fmt.Sprintf(format, args...), rule.Reason
		inert[ref] = append(inert[ref], problem)
	}
	wide := s.passes.Wide()
	guarded := in.guarded()
	unguarded := "is only about namespaces that webhooks leave out by their names (" + strings.Join(in.Unguarded, ", ") + "), so that nobody is asked about them"
	excused := func(ref PolicyRef, rules []string, about *match.Match) {
		for _, name := range rules {
			q := &pass.Query{PolicyKind: ref.Kind, PolicyNamespace: ref.Namespace, Policy: ref.Name, Rule: name, BaseRule: name, Now: in.Now}
			if by := wide.Excusing(q, about); by != nil {
				say(ref, effect.Excused, "", "rule %s holds nobody to anything: all that it is about is excused by %s", name, &by.Names)
			}
		}
	}
	for _, p := range s.deny {
		ref := PolicyRef{KindDenyPolicy, "", p.name}
		if p.broken != nil {
			continue
		}
		excused(ref, p.wholeRuleNames(), nil)
		if in.Namespaces != nil {
			p.nowhere(in.Namespaces, func(path, detail string) { say(ref, effect.NothingThere, path, "%s", detail) })
		}
	}
	for _, r := range s.rules.all {
		if r.broken != nil {
			continue
		}
		ref := PolicyRef{r.kind, r.namespace, r.policy}
		about := r.match
		if r.generated.on {
			about = nil
		}
		excused(ref, []string{r.name}, about)
		if in.Namespaces != nil && s.narrowed[r] != nil && !s.narrowed[r].somewhere(in.Namespaces) {
			say(ref, effect.NothingThere, "", "rule %s is about no namespace that there is: match, without exclude, selects none of %d", r.name, len(in.Namespaces))
		} else if in.Namespaces != nil && s.narrowed[r] != nil && !s.narrowed[r].somewhere(guarded) {
			say(ref, effect.NotGuarded, "", "rule %s %s", r.name, unguarded)
		}
	}
	for _, p := range s.modules.all {
		if p.broken != nil {
			continue
		}
		ref := PolicyRef{p.rule.kind, p.rule.namespace, p.rule.policy}
		if !slices.ContainsFunc(p.rules, func(w *webhookRule) bool { return namesSubresources(w.resources) }) {
			excused(ref, []string{RuleModule}, nil)
		}
		if in.Namespaces != nil && p.nowhere(in.Namespaces) {
			say(ref, effect.NothingThere, "spec.namespaceSelector", "selects none of the %d namespaces that there are", len(in.Namespaces))
		} else if in.Namespaces != nil && p.nowhere(guarded) {
			say(ref, effect.NotGuarded, "spec.namespaceSelector", "%s", unguarded)
		}
	}
	for _, name := range s.identities.Names() {
		excused(PolicyRef{identity.KindSource, "", name}, identityRules, nil)
	}
	return inert, wide.Next(in.Now)
}

// somewhere reports whether the rule is about something in a namespace that there is,
// or may be about something that is in none.
func (r *ruleReach) somewhere(namespaces []*corev1.Namespace) bool {
	if r.namespace == "" && r.reach.MayBeInNone() {
		return true
	}
	return slices.ContainsFunc(namespaces, func(n *corev1.Namespace) bool {
		return (r.namespace == "" || r.namespace == n.Name) && r.reach.InNamespace(n.Name, n.Labels)
	})
}

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

func namesSubresources(resources []string) bool {
	return slices.ContainsFunc(resources, func(entry string) bool {
		name, _, slash := strings.Cut(entry, "/")
		return slash && name != string(corev1.ResourcePods)
	})
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

// nowhere reports whether the policy is about namespaces only and about none that there
// is.
func (p *modulePolicy) nowhere(namespaces []*corev1.Namespace) bool {
	if p.namespaces == nil || slices.ContainsFunc(p.rules, func(w *webhookRule) bool {
		return w.scope != admissionregistrationv1.NamespacedScope && !w.knownNamespaced()
	}) {
		return false
	}
	return !slices.ContainsFunc(namespaces, func(n *corev1.Namespace) bool { return p.namespaces.Matches(labels.Set(n.Labels)) })
}

// knownNamespaced reports whether all that the rule names is known to be in namespaces.
func (w *webhookRule) knownNamespaced() bool {
	return !slices.ContainsFunc(w.resources, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "/")
		return slices.ContainsFunc(w.groups, func(group string) bool { return !match.NamespacedResource(group, name) })
	})
}
