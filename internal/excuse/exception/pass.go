package exception

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Exception is one compiled exception: of a PolicyException, a
// ClusterPolicyException, or an entry of a request that was approved. Sets share it,
// and it is not changed after it was compiled.
type Exception struct {
	// Names is how it is named in results, with its reason, who asked, who
	// approved, and until when.
	Names decision.Exception
	// Period that it is valid for.
	Period Period
	// PodSecurity narrows it to controls, if it is not empty.
	PodSecurity standard.Exclusions

	rules []ruleName
	match *match.Match
	// bound is set where it holds only for resources of namespace.
	bound      bool
	namespace  string
	conditions *expression.Conditions
	uid        types.UID
	use        *Use
	// places are where it stands in an index, and labelled is how it goes by the
	// labels of namespaces; nil if it does not.
	places   []place
	labelled *labelled
	// approval is the record of who wrote it, if that counts.
	approval *Approval
	// void is why it excuses nothing, if a rule about exceptions keeps it from it.
	void error
}

// ready works out what sets that hold the pass find it by.
func (p *Exception) ready() {
	p.places = placesOf(p)
	p.labelled = labelsOf(p)
}

// ruleName names rules of a policy.
type ruleName struct {
	policy, kind string
	// pattern is set where policy is one.
	pattern bool
	// namespace of a Policy that is named, and ownNamespace that of the exception,
	// from which a Policy can be named without. An exception that has none names
	// Policies only by their namespace.
	namespace, ownNamespace string
	rules                   glob.List
	everyRule               bool
	// names of rules as they were written.
	names []string
	// exact are the names of rules, if none of them is a pattern.
	exact []string

	// pinned is set where it holds only for policies of kinds. What stands from
	// before, and no one approved, holds for the others too, until one of endings.
	// barred are kinds that no exception of the namespace may name.
	pinned, standing, inNamespace bool
	kinds, barred                 []string
	endings                       []ending
}

// namesPolicy reports whether the policy is named.
func (r *ruleName) namesPolicy(q *Query) bool {
	if r.kind != "" && r.kind != q.PolicyKind || r.policy != q.Policy && (!r.pattern || !glob.Match(r.policy, q.Policy)) {
		return false
	}
	switch {
	case q.PolicyNamespace == "":
		if r.namespace != "" {
			return false
		}
	case r.namespace != "":
		if !glob.Match(r.namespace, q.PolicyNamespace) {
			return false
		}
	case r.ownNamespace != q.PolicyNamespace:
		return false
	}
	return true
}

// covers reports whether the rule is named, by one of the names that it has. No name
// is empty, and a pattern that matches the empty one matches every other.
func (r *ruleName) covers(q *Query) bool {
	switch {
	case !r.namesPolicy(q):
		return false
	case r.everyRule:
		return true
	case r.exact != nil:
		return slices.Contains(r.exact, q.Rule) || slices.Contains(r.exact, q.BaseRule)
	default:
		return r.rules.Match(q.Rule) || r.rules.Match(q.BaseRule)
	}
}

// Excepted lists what the pass names: policies, their kinds where these are
// given, and rules.
func (p *Exception) Excepted(visit func(kind, namespace, ownNamespace, policy string, rules []string)) {
	for i := range p.rules {
		r := &p.rules[i]
		visit(r.kind, r.namespace, r.ownNamespace, r.policy, r.names)
	}
}

// Used records that the pass excused a request.
func (p *Exception) Used(now time.Time) {
	if p.use != nil {
		p.use.add(now)
	}
}
