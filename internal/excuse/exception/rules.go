package exception

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// Rules are compiled ExceptionPolicies.
type Rules struct{ policies []*exceptionPolicy }

type exceptionPolicy struct {
	name string
	// broken is set for one that cannot work.
	broken     bool
	policies   []string
	namespaces glob.List
	everywhere bool
	// subjects are the only ones who may ask; nil where anybody may.
	subjects    *match.Subjects
	maxDuration time.Duration
	spec        *v1alpha1.ExceptionPolicySpec
	trusted     glob.List
	condition   *expression.Conditions
}

func compileExceptionPolicy(p *v1alpha1.ExceptionPolicy) (_ *exceptionPolicy, errs field.ErrorList) {
	defer source.Recovered(&errs)
	at := field.NewPath("spec")
	spec := &p.Spec
	compiled := &exceptionPolicy{
		name: p.Name, policies: spec.Policies, spec: spec, everywhere: spec.Namespaces == nil,
		namespaces: glob.NewList(spec.Namespaces), trusted: glob.NewList(spec.TrustedNamespaces),
	}
	if len(spec.Policies) == 0 {
		errs = append(errs, field.Required(at.Child("policies"), `is about no policy; name one or more, or "*" for all`))
	}
	if spec.Namespaces != nil && len(spec.Namespaces) == 0 {
		errs = append(errs, field.Required(at.Child("namespaces"), "an empty list matches nothing; name one or more, or leave the field out for all"))
	}
	for name, list := range map[string][]string{"policies": spec.Policies, "namespaces": spec.Namespaces, "trustedNamespaces": spec.TrustedNamespaces} {
		for i, entry := range list {
			if entry == "" || strings.ContainsAny(entry, " \t[]{}\\") {
				errs = append(errs, field.Invalid(at.Child(name).Index(i), entry, "is neither a name nor a pattern; patterns know only * and ?"))
			}
		}
	}
	errs = append(errs, checkWriting(spec, at)...)
	if spec.AllowedSubjects != nil {
		subjects, more := match.CompileSubjects(*spec.AllowedSubjects, at.Child("allowedSubjects"))
		errs = append(errs, more...)
		compiled.subjects = subjects
	}
	if spec.MaxDuration != "" {
		var err error
		if compiled.maxDuration, err = ParseDuration(spec.MaxDuration); err != nil {
			errs = append(errs, field.Invalid(at.Child("maxDuration"), spec.MaxDuration, err.Error()))
		}
	}
	switch spec.ApprovalPolicy {
	case "", "Manual", "Automatic":
	default:
		errs = append(errs, field.NotSupported(at.Child("approvalPolicy"), spec.ApprovalPolicy, []string{"Manual", "Automatic"}))
	}
	if spec.ApprovalCondition != "" {
		if spec.ApprovalPolicy != "Automatic" {
			errs = append(errs, field.Invalid(at.Child("approvalCondition"), spec.ApprovalCondition, "belongs to approvalPolicy Automatic"))
		}
		condition, more := expression.CompileApproval(spec.ApprovalCondition, at.Child("approvalCondition"))
		errs = append(errs, more...)
		compiled.condition = condition
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return compiled, errs
}

// limits reports whether the policy limits exceptions of the namespace to any of
// the policies: a pattern there is limited by whatever limits one that it may
// match.
func (p *exceptionPolicy) limits(namespace string, rules []ruleName) bool {
	return p.inNamespace(namespace) && slices.ContainsFunc(rules, func(r ruleName) bool {
		if !r.mayBe(p.isAbout) {
			return false
		}
		for _, name := range r.possibleNames() {
			if glob.IsPattern(name) || slices.ContainsFunc(p.policies, func(pattern string) bool { return glob.Match(pattern, name) }) {
				return true
			}
		}
		return false
	})
}

// allows reports whether what the policy allows holds for each of the policies.
// A pattern is covered by a pattern that matches every name which it matches.
func (p *exceptionPolicy) allows(namespace string, rules []ruleName) bool {
	if !p.inNamespace(namespace) || len(rules) == 0 {
		return false
	}
	for i := range rules {
		if rules[i].mayBe(func(kind string) bool { return !p.isAbout(kind) }) {
			return false
		}
		for _, name := range rules[i].fullNames() {
			if !p.covers(name) {
				return false
			}
		}
	}
	return true
}

// mayBe reports whether the entry excuses from a kind of policies that is one of
// these.
func (r *ruleName) mayBe(one func(kind string) bool) bool {
	if r.pinned && !r.standing {
		return slices.ContainsFunc(r.kinds, one)
	}
	return slices.ContainsFunc(r.reachable(), func(k Excusable) bool { return one(k.Kind) })
}

func (p *exceptionPolicy) inNamespace(namespace string) bool {
	return p.everywhere || namespace != "" && p.namespaces.Match(namespace)
}

// fullNames are the names by which an ExceptionPolicy knows the policies: NAME,
// and NAMESPACE/NAME of a Policy.
func (r *ruleName) fullNames() []string {
	if r.namespace != "" {
		return []string{r.namespace + "/" + r.policy}
	}
	return []string{r.policy}
}

// possibleNames are fullNames, and that of a Policy which the bare name may mean.
func (r *ruleName) possibleNames() []string {
	names := r.fullNames()
	if r.namespace == "" && r.ownNamespace != "" {
		names = append(names, r.ownNamespace+"/"+r.policy)
	}
	return names
}

// anyAllows reports whether some policy that covers the exception allows what
// asked says.
func (r *Rules) anyAllows(namespace string, rules []ruleName, asked func(*v1alpha1.ExceptionPolicySpec) bool) bool {
	return slices.ContainsFunc(r.policies, func(p *exceptionPolicy) bool {
		return asked(p.spec) && p.allows(namespace, rules)
	})
}

// Trusts reports whether a PolicyException of the namespace may reach further
// than its own namespace.
func (r *Rules) trusts(namespace string, rules []ruleName) bool {
	return slices.ContainsFunc(r.policies, func(p *exceptionPolicy) bool {
		return p.trusted.Match(namespace) && p.allows(namespace, rules)
	})
}

// keepsOut says why an exception of these people has no effect; empty where it
// has, or where that cannot be known: of whoever wrote it the name is kept, and
// not the groups, which were asked when it was written.
func (p *exceptionPolicy) keepsOut(people []string) string {
	if p.subjects == nil {
		return ""
	}
	list := *p.spec.AllowedSubjects
	if len(list) == 0 {
		return "names a policy that nobody may be excused from"
	}
	if slices.ContainsFunc(list, func(s rbacv1.Subject) bool { return s.Kind == rbacv1.GroupKind }) {
		return ""
	}
	for _, name := range people {
		if !p.subjects.Match(&request.User{Name: name}) {
			return "names a policy that " + name + " may not ask to be excused from"
		}
	}
	return ""
}

// limit checks an exception against the limits. path leads to its spec.
func (r *Rules) limit(e *described, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, p := range r.policies {
		if !p.limits(e.namespace, e.rules) {
			continue
		}
		by := ": ExceptionPolicy " + p.name + " asks for it"
		if p.broken {
			errs = append(errs, field.Forbidden(path.Child("exceptions"), "names a policy that ExceptionPolicy "+p.name+" is about, which cannot work; nobody is excused from it until that is mended"))
			continue
		}
		if p.spec.RequireReason && strings.TrimSpace(e.reason) == "" {
			errs = append(errs, field.Required(path.Child("reason"), "give a reason"+by))
		}
		if problem := p.keepsOut(e.askedBy); problem != "" {
			errs = append(errs, field.Forbidden(path.Child("exceptions"), problem+by))
		}
		if p.maxDuration > 0 && !e.unanchored {
			switch {
			case e.period.Until.IsZero():
				errs = append(errs, field.Required(path.Child("duration"), "give duration or expiresAt, at most "+p.spec.MaxDuration+by))
			case e.period.Until.Sub(e.start()) > p.maxDuration:
				errs = append(errs, field.Invalid(path.Child("duration"), e.period.Until.UTC().Format(time.RFC3339),
					fmt.Sprintf("is later than %s after its beginning, which is the longest%s", p.spec.MaxDuration, by)))
			}
		}
		if p.spec.ForbidWildcards {
			for _, w := range e.wildcards {
				errs = append(errs, field.Invalid(w.path, w.found, "write names in full, without * and ?"+by))
			}
		}
	}
	return errs
}
