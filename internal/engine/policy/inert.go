package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/identityrule"
	"github.com/sallyport-io/sallyport/internal/engine/modulepolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/rules/builtin"
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
func (s *Set) Inert(in *Surroundings) (inert map[stored.Ref]stored.Problems, next time.Time) {
	inert = map[stored.Ref]stored.Problems{}
	say := func(ref stored.Ref, rule *effect.Rule, path, format string, args ...any) {
		problem := ref.Problem("")
		problem.Path, problem.Detail, problem.Reason = path, fmt.Sprintf(format, args...), rule.Reason
		inert[ref] = append(inert[ref], problem)
	}
	wide := s.Excusing.Wide()
	unguarded := "is only about namespaces that webhooks leave out by their names (" + strings.Join(in.Unguarded, ", ") + "), so that nobody is asked about them"
	excused := func(ref stored.Ref, rules []string, what exception.Excused) {
		for _, name := range rules {
			q := &exception.Query{PolicyKind: ref.Kind, PolicyNamespace: ref.Namespace, Policy: ref.Name, Rule: name, BaseRule: name, Now: in.Now}
			if by, left := wide.Excusing(q, &what); by != nil {
				say(ref, effect.Excused, "", "rule %s holds no one to anything%s: all that it is about is excused by %s", name, left, &by.Names)
			}
		}
	}
	for _, p := range s.Deny {
		ref := stored.Ref{Kind: stored.KindDenyPolicy, Namespace: "", Name: p.Name}
		if p.Broken != nil {
			continue
		}
		for _, name := range p.WholeRuleNames() {
			excused(ref, []string{name}, exception.Excused{Somewhere: p.NamespacedRule(name)})
		}
		if in.Namespaces != nil {
			p.Nowhere(in.Namespaces, func(path, detail string) { say(ref, effect.NothingThere, path, "%s", detail) })
		}
	}
	for _, r := range s.rules.All {
		if r.Broken != nil {
			continue
		}
		ref := stored.Ref{Kind: r.Kind, Namespace: r.Namespace, Name: r.Policy}
		// What makes pods may be of any kind, and in no namespace.
		makes := r.Generated.On
		excused(ref, []string{r.Name}, exception.Excused{Match: r.Match, In: match.Space{Rule: true, Namespace: r.Namespace, EveryKind: makes, MayBeInNone: makes}})
		switch somewhere, guarded := ruleReached(s.narrowed[r], in); {
		case !somewhere:
			say(ref, effect.NothingThere, "", "rule %s is about no namespace that there is: match, without exclude, selects none of %d", r.Name, len(in.Namespaces))
		case !guarded:
			say(ref, effect.NotGuarded, "", "rule %s %s", r.Name, unguarded)
		}
	}
	for _, p := range s.Modules.All {
		if p.Broken != nil {
			continue
		}
		ref := stored.Ref{Kind: p.Rule.Kind, Namespace: p.Rule.Namespace, Name: p.Rule.Policy}
		if !slices.ContainsFunc(p.Rules, func(w *modulepolicy.WebhookRule) bool { return builtin.NamesSubresources(w.Resources) }) {
			excused(ref, []string{stored.RuleModule}, p.Excused())
		}
		switch somewhere, guarded := moduleReached(p, in); {
		case !somewhere:
			say(ref, effect.NothingThere, "spec.namespaceSelector", "selects none of the %d namespaces that there are", len(in.Namespaces))
		case !guarded:
			say(ref, effect.NotGuarded, "spec.namespaceSelector", "%s", unguarded)
		}
	}
	for _, name := range s.Identity.Names() {
		excused(stored.Ref{Kind: identity.KindSource, Namespace: "", Name: name}, identityrule.IdentityRules, exception.Excused{Somewhere: true})
	}
	return inert, wide.Next(in.Now)
}

// ruleReached says whether the rule is about something in a namespace that there is, and in
// one that is asked about. What does not go by namespaces, or may be in none, is.
func ruleReached(r *clusterpolicy.RuleReach, in *Surroundings) (somewhere, guarded bool) {
	if r == nil || r.Namespace == "" && r.Reach.MayBeInNone() {
		return true, true
	}
	return in.reached(func(n *corev1.Namespace) bool {
		return (r.Namespace == "" || r.Namespace == n.Name) && r.Reach.InNamespace(n.Name, n.Labels)
	})
}

// moduleReached says the same of a module, which goes by namespaceSelector.
func moduleReached(p *modulepolicy.Policy, in *Surroundings) (somewhere, guarded bool) {
	if p.Namespaces == nil || slices.ContainsFunc(p.Rules, func(w *modulepolicy.WebhookRule) bool {
		return w.Scope != admissionregistrationv1.NamespacedScope && !w.KnownNamespaced()
	}) {
		return true, true
	}
	return in.reached(func(n *corev1.Namespace) bool { return p.Namespaces.Matches(labels.Set(n.Labels)) })
}
