package exception

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// What writing an exception takes, in an ExceptionPolicy.
const (
	WritingApprove = "approve"
	WritingRBAC    = "rbac"
)

// Writing is what ExceptionPolicies say about writing exceptions to a policy.
type Writing struct {
	// RBAC is set where the right to write the exception is enough.
	RBAC bool
	// Barred is set where no exception of the namespace may name the policy.
	Barred bool
}

// Writing says what it takes to write an exception of a namespace, which is empty
// for one that has none, to a policy of a kind. name is that by which an
// ExceptionPolicy knows it, or a pattern.
func (r *Rules) Writing(namespace string, kind Excusable, name string) Writing {
	rbac, strict, named := false, false, false
	for _, p := range r.policies {
		if p.spec.Writing == "" || !p.inNamespace(namespace) {
			continue
		}
		covers := p.covers(name)
		rbac = rbac || p.spec.Writing == WritingRBAC && covers && p.gives(kind)
		strict = strict || p.spec.Writing == WritingApprove && p.mayMean(name) && p.isAbout(kind.Kind)
		named = named || covers && slices.Contains(p.spec.PolicyKinds, kind.Kind)
	}
	return Writing{RBAC: rbac && !strict, Barred: kind.Guarded && namespace != "" && !named}
}

// isAbout reports whether the policy is about policies of a kind.
func (p *exceptionPolicy) isAbout(kind string) bool {
	return len(p.spec.PolicyKinds) == 0 || slices.Contains(p.spec.PolicyKinds, kind)
}

// gives reports whether the policy lets something be done without anybody's
// approval for policies of a kind. Guarded kinds have to be named.
func (p *exceptionPolicy) gives(kind Excusable) bool {
	return p.isAbout(kind.Kind) && (!kind.Guarded || len(p.spec.PolicyKinds) > 0)
}

// covers reports whether the policy names every policy that a name, or a pattern,
// means.
func (p *exceptionPolicy) covers(name string) bool {
	return slices.ContainsFunc(p.policies, func(pattern string) bool {
		return (!glob.IsPattern(name) || !strings.Contains(pattern, "?")) && glob.Match(pattern, name)
	})
}

// mayMean reports whether the policy names one that a name, or a pattern, can
// mean.
func (p *exceptionPolicy) mayMean(name string) bool {
	return glob.IsPattern(name) || slices.ContainsFunc(p.policies, func(pattern string) bool { return glob.Match(pattern, name) })
}

// ending is until when an exception counts that no one approved, and the
// ExceptionPolicy that says so.
type ending struct{ by *exceptionPolicy }

func (e ending) at() time.Time { return e.by.spec.UnapprovedUntil.Time }

// pin holds the entries of an exception to the kinds of policies that they were
// approved for. What stands from before, without a record that is about what the
// exception says now, is in force, and known as what no one approved.
func (c *compiler) pin(rules []ruleName, e *entry) field.ErrorList {
	switch {
	case e.file:
		// Files are the administrator's: nobody writes there whom one could ask.
		return nil
	case e.id.kind == KindRequest:
		for i := range rules {
			if r := &rules[i]; e.answered && r.kind == "" {
				r.pinned = true
				for _, k := range r.reachable() {
					if k.asked {
						r.kinds = append(r.kinds, k.Kind)
					}
				}
			}
		}
		return nil
	}
	record := e.record
	if record != nil && !record.counts(e.id.kind, e.id.namespace, e.spec) {
		record = nil
	}
	left := false
	for i := range rules {
		left = c.pinRule(&rules[i], i, record, e.id.namespace) || left
	}
	if left || len(rules) == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(e.rulesAt, rules[0].unapproved("").Error())}
}

// pinRule pins an entry, and reports whether it excuses anything then.
func (c *compiler) pinRule(r *ruleName, i int, record *Approval, namespace string) bool {
	kinds := r.reachable()
	r.pinned, r.kinds, r.standing, r.inNamespace = true, nil, record == nil, namespace != ""
	for _, k := range kinds {
		w := c.set.rules.Writing(namespace, k, r.fullName(k))
		switch {
		case record != nil && w.Barred:
			r.barred = append(r.barred, k.Kind)
		case record != nil && slices.Contains(record.Kinds[i], k.Kind) || w.RBAC:
			r.kinds = append(r.kinds, k.Kind)
		}
	}
	if r.standing {
		for _, p := range c.set.rules.policies {
			if p.spec.UnapprovedUntil != nil && p.limits(namespace, []ruleName{*r}) {
				r.endings = append(r.endings, ending{p})
			}
		}
		return true
	}
	// Most are pinned to nothing less than what they mean.
	if len(r.kinds) == len(kinds) {
		r.pinned = false
	}
	return len(r.kinds) > 0
}

// lacks says why the entry does not excuse from a policy of a kind that it names;
// nil if nothing keeps it from that.
func (r *ruleName) lacks(kind string, now time.Time) error {
	if !r.pinned || slices.Contains(r.kinds, kind) {
		return nil
	}
	if !r.standing {
		return r.unapproved(kind)
	}
	for _, e := range r.endings {
		if e.by.isAbout(kind) && !now.Before(e.at()) {
			return fmt.Errorf("no one approved it, and ExceptionPolicy %s let such exceptions count until %s; have it approved", e.by.name, e.at().UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// unapproved says why an entry that was approved does not excuse from a policy of
// a kind; without kind: from any.
func (r *ruleName) unapproved(kind string) error {
	barred := slices.Contains(r.barred, kind) || kind == "" && len(r.barred) > 0 && len(r.barred) == len(r.reachable())
	switch {
	case barred && kind == "":
		return fmt.Errorf("names %q, %s, which a PolicyException excuses only where an ExceptionPolicy names that kind in policyKinds and gives writing", r.policy, aOrB(r.barred))
	case barred:
		return fmt.Errorf("a PolicyException excuses from %s only where an ExceptionPolicy names that kind in policyKinds and gives writing", aOrB([]string{kind}))
	case len(r.kinds) == 0:
		return errors.New("no one approved it, and no ExceptionPolicy with writing rbac says now that the right to write it is enough; have it approved")
	}
	return fmt.Errorf("it was approved for %s called %q, and not for %s", aOrB(r.kinds), r.policy, aOrB([]string{kind}))
}

// aOrB lists kinds as the alternatives that they are.
func aOrB(kinds []string) string {
	said := make([]string, len(kinds))
	for i, kind := range kinds {
		article := "a "
		if strings.ContainsRune("AEIOU", rune(kind[0])) {
			article = "an "
		}
		said[i] = article + kind
	}
	return strings.Join(said, " or ")
}

// Standing says of a pass that no one approved from which policies it excuses all
// the same, and until when: the policy is one that it names. ok is false where it
// was approved, or does not name the policy.
func (p *Exception) Standing(kind, namespace, policy string) (until time.Time, by string, ok bool) {
	q := &Query{PolicyKind: kind, PolicyNamespace: namespace, Policy: policy}
	for i := range p.rules {
		r := &p.rules[i]
		if !r.namesPolicy(q) {
			continue
		}
		if !r.pinned || !r.standing || slices.Contains(r.kinds, kind) {
			return time.Time{}, "", false
		}
		ok = true
		for _, e := range r.endings {
			if e.by.isAbout(kind) && (until.IsZero() || e.at().Before(until)) {
				until, by = e.at(), e.by.name
			}
		}
	}
	return until, by, ok
}

// Lacks says why a pass does not excuse from a policy that it names, as it was not
// approved for its kind; nil if it does, or does not name it.
func (p *Exception) Lacks(kind, namespace, policy string) error {
	q := &Query{PolicyKind: kind, PolicyNamespace: namespace, Policy: policy}
	var lacks error
	for i := range p.rules {
		if r := &p.rules[i]; r.namesPolicy(q) && !r.standing {
			if lacks = r.lacks(kind, time.Time{}); lacks == nil {
				return nil
			}
		}
	}
	return lacks
}

// Unapproved reports whether something of the pass stands that no one approved,
// whichever policies there are.
func (p *Exception) Unapproved() bool {
	return slices.ContainsFunc(p.rules, func(r ruleName) bool { return r.standing && len(r.kinds) < len(r.reachable()) })
}

// Approval is the record that the pass was compiled with; nil without one that
// counts.
func (p *Exception) Approval() *Approval { return p.approval }

// checkWriting checks what an ExceptionPolicy says about writing, and the kinds
// that it is about.
func checkWriting(spec *v1alpha1.ExceptionPolicySpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch spec.Writing {
	case "", WritingApprove, WritingRBAC:
	default:
		errs = append(errs, field.NotSupported(at.Child("writing"), spec.Writing, []string{WritingApprove, WritingRBAC}))
	}
	if spec.PolicyKinds != nil && len(spec.PolicyKinds) == 0 {
		errs = append(errs, field.Required(at.Child("policyKinds"), "an empty list matches nothing; name one or more, or leave the field out for all"))
	}
	before := sets.New[string]()
	for i, kind := range spec.PolicyKinds {
		if _, known := excusableKind(kind); !known {
			errs = append(errs, field.Invalid(at.Child("policyKinds").Index(i), kind, "is not a kind of policy that can be excused; known are "+excusableNames()))
		} else if before.Has(kind) {
			errs = append(errs, field.Duplicate(at.Child("policyKinds").Index(i), kind))
		}
		before.Insert(kind)
	}
	return errs
}
