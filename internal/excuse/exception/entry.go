package exception

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// entry is what one Pass is compiled from.
type entry struct {
	id          identity
	meta        *metav1.ObjectMeta
	rules       []v1alpha1.ExceptedRules
	rulesAt     *field.Path
	match       *v1alpha1.Match
	matchAt     *field.Path
	at          *field.Path
	reason      string
	times       times
	begins      time.Time
	conditions  []v1alpha1.CELCondition
	podSecurity []v1alpha1.PodSecurityExclusion
	requester   string
	askedBy     []string
	approver    string
	// approvedAt and ends are what an answer says of when it begins and is over.
	approvedAt, ends time.Time
	// granted is set for what excuses if it can, and not for what is only asked for.
	granted bool
	// approved is set for what somebody approved knowing the namespaces that it
	// names, so that these count.
	approved   bool
	unanchored bool
	// file is set for what was read from one, and answered for a request that a
	// response of the API server answers.
	file, answered bool
	// spec is that of an exception, and record says who approved it.
	spec   *v1alpha1.PolicyExceptionSpec
	record *Approval
}

// compile compiles an entry, and adds to the part what it comes to.
func (c *compiler) compile(made *part, e *entry) {
	p, errs := c.passOf(made, e)
	made.errs = append(made.errs, errs...)
	if p != nil {
		made.passes = append(made.passes, p)
	}
}

func (c *compiler) passOf(made *part, e *entry) (_ *Exception, errs field.ErrorList) {
	defer source.Recovered(&errs)
	rules, more := readRules(e.rules, e.id.namespace, e.rulesAt)
	errs = append(errs, more...)
	unapproved := c.pin(rules, e)
	if c.options.Trial {
		unapproved = nil
	}
	period, more := e.times.period(e.at)
	errs = append(errs, more...)
	// Nothing holds before it is made, or approved.
	if made := e.meta.CreationTimestamp.Time; period.From.Before(made) {
		period.From = made
	}
	if period.From.Before(e.approvedAt) {
		period.From = e.approvedAt
	}
	if last := e.ends; !last.IsZero() && (period.Until.IsZero() || last.Before(period.Until)) {
		period.Until = last
	}
	d := &described{
		kind: e.id.kind, namespace: e.id.namespace, name: e.id.name, reason: e.reason, rules: rules, period: period,
		begins: e.begins, unanchored: e.unanchored, wildcards: wildcardsIn(e.rules, e.rulesAt, e.match, e.matchAt),
		askedBy: e.askedBy,
	}
	p := &Exception{
		rules: rules, Period: period, namespace: e.id.namespace, uid: e.meta.UID, use: c.options.Ledger.use(e.meta.UID),
		Names: decision.Exception{
			Kind: e.id.kind, Namespace: e.id.namespace, Name: e.id.name, Reason: e.reason,
			Requester: e.requester, Approver: e.approver,
		},
	}
	if r := e.record; r != nil && r.counts(e.id.kind, e.id.namespace, e.spec) {
		p.approval = r
		// Where the right to write was enough for all of it, no one approved.
		if slices.ContainsFunc(r.Kinds, func(kinds []string) bool { return len(kinds) > 0 }) {
			p.Names.Approver = r.By
		}
	}
	if !period.Until.IsZero() {
		p.Names.ExpiresAt = period.Until.UTC().Format(time.RFC3339)
	}
	open := c.set.rules.anyAllows(e.id.namespace, rules, func(s *v1alpha1.ExceptionPolicySpec) bool { return s.AllowEmptyMatch })
	compileMatch := match.Compile
	if open {
		compileMatch = match.CompileOpen
	}
	if len(e.reason) > maxReason {
		errs = append(errs, field.TooLong(e.at.Child("reason"), "", maxReason))
	}
	// Entries of a request share a block, which is compiled once.
	shared, known := made.matches[e.match]
	if !known || shared.open != open {
		shared.open = open
		shared.match, shared.errs = compileMatch(e.match, e.matchAt)
		made.matches[e.match] = shared
	}
	p.match = shared.match
	errs = append(errs, shared.errs...)
	p.conditions, more = made.conditionsOf(e)
	errs = append(errs, more...)
	if e.podSecurity != nil && len(e.podSecurity) == 0 {
		errs = append(errs, field.Required(e.at.Child("podSecurity"), "an empty list excuses no control; name one or more, or leave the field out to excuse whole rules"))
	}
	p.PodSecurity, more = standard.CompileExclusions(e.podSecurity, e.at.Child("podSecurity"))
	errs = append(errs, more...)
	errs = append(errs, c.set.rules.checkPolicies(d, e.rulesAt)...)
	if p.match != nil {
		more := c.bind(p, e, d)
		errs = append(errs, more...)
	}
	more = append(unapproved, c.set.rules.limit(d, e.at)...)
	if len(errs) == 0 && len(more) > 0 && e.granted {
		// It would excuse, if it might: whoever relies on it is told why it does not.
		p.void = more.ToAggregate()
		p.ready()
		made.void = append(made.void, p)
	}
	if errs = append(errs, more...); len(errs) > 0 {
		return nil, errs
	}
	p.ready()
	return p, nil
}

// bind says whether the exception holds only for its own namespace, and refuses
// one that names others and may not.
func (c *compiler) bind(p *Exception, e *entry, d *described) field.ErrorList {
	if e.id.namespace == "" {
		return nil
	}
	if c.trusted.Match(e.id.namespace) || c.set.rules.trusts(e.id.namespace, d.rules) {
		return nil
	}
	p.bound = true
	var errs field.ErrorList
	p.match.Namespaces(e.matchAt, func(pattern string, at *field.Path) {
		if pattern != e.id.namespace && !e.approved {
			errs = append(errs, field.Invalid(at, pattern,
				"is another namespace; a "+e.id.kind+" of namespace "+e.id.namespace+" excuses only resources there, unless the administrator trusts that namespace"))
		}
	})
	// Who approved a request has read which namespaces it names. One that names
	// none is about its own.
	if e.approved && p.match.NamesEveryNamespace() {
		p.bound = false
		return errs
	}
	p.match.Kinds(e.matchAt, func(kind match.Kind, at *field.Path) {
		if name, _ := kind.Exact(); kind.ClusterScoped() {
			errs = append(errs, field.Invalid(at, name,
				"has no namespace; a "+e.id.kind+" of namespace "+e.id.namespace+" excuses only resources of that namespace, unless the administrator trusts it; a ClusterPolicyException can excuse it"))
		}
	})
	return errs
}
