package policy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// weakening is a policy that does less because of a change of labels.
type weakening struct {
	policy stored.Ref
	// what it does less.
	what []string
	// labels that make it so.
	labels []string
}

// decideNamespaceLabels judges whether the requester may change the labels of a
// namespace. Where some policy does less after the change than before, whoever
// makes it needs the verb exempt on that policy. What exceptions, sessions and
// automatic approvals come to cover counts against the policies that they excuse.
// A change that brings the namespace under more policies needs nothing.
func (s *Set) decideNamespaceLabels(c *call.Call, results []decision.Result) []decision.Result {
	r := c.Request
	if r.Resource.GroupResource() != corev1.Resource("namespaces") || r.User.Name == "" {
		return results
	}
	n, err := c.Relabelling()
	if err != nil {
		result := s.labelResult(c, &weakening{policy: stored.Ref{Kind: "Namespace", Name: r.Name}})
		result.Status, result.FailClosed = decision.Error, true
		result.Message = fmt.Sprintf("what the labels of the namespace are cannot be read: %v; what cannot be judged is refused", err)
		return append(results, result)
	}
	if n == nil {
		return results
	}
	weakened := s.weakened(c.Ctx, n)
	if len(weakened) == 0 {
		return results
	}
	may := rightsToExempt{call: c, all: map[request.Attributes]bool{}}
	// What refuses is asked about first: each policy is a question to the API server, and
	// the time for all of them is that of one decision.
	slices.SortStableFunc(weakened, func(a, b weakening) int {
		refuses := func(w *weakening) int {
			if s.actionOnLabels(w.policy) == decision.Enforce {
				return 0
			}
			return 1
		}
		return cmp.Compare(refuses(&a), refuses(&b))
	})
	var refused, observed int
	for i := range weakened {
		w := &weakened[i]
		result := s.labelResult(c, w)
		allowed, err := may.exempt(w.policy, weakened)
		switch {
		case err != nil:
			result.Status, result.FailClosed = decision.Error, result.Action == decision.Enforce
			result.Message = fmt.Sprintf("whether %s may change labels by which %s %s does less cannot be found out: %v", r.User.Name, w.policy.Kind, w.policy.Qualified(), err)
			if !result.FailClosed {
				result.WouldDeny = true
				result.Message += stored.LetsIn(result.Action)
				results = append(results, result)
				if observed++; observed == mostRefused {
					return results
				}
				continue
			}
			result.Message += "; what cannot be judged is refused"
			return append(results, result)
		case allowed:
			result.Message = fmt.Sprintf("%s may change the labels of namespace %s by which the policy does less: %s", r.User.Name, n.Namespace, strings.Join(w.what, "; "))
			results = append(results, result)
			continue
		}
		result.Status = decision.Fail
		result.Message = fmt.Sprintf("%s of namespace %s would make %s %s do less: %s; %s may not bring that about: it needs the verb %s on %s.%s %q%s",
			n.Words(w.labels), n.Namespace, w.policy.Kind, w.policy.Qualified(), strings.Join(w.what, "; "), r.User.Name,
			deny.VerbExempt, resourceOf(w.policy.Kind), v1alpha1.GroupVersion.Group, w.policy.Name, w.policy.InNamespace())
		for _, key := range w.labels {
			result.Findings = append(result.Findings, decision.Finding{
				Path: "metadata.labels[" + key + "]", Value: n.After[key], Detail: w.policy.Kind + " " + w.policy.Qualified() + " does less: " + strings.Join(w.what, "; "),
			})
		}
		results = append(results, result)
		stored.Settle(results[len(results)-1:])
		// More would not be read.
		counted := &refused
		if result.Action != decision.Enforce {
			counted = &observed
		}
		if *counted++; *counted == mostRefused {
			return results
		}
	}
	return results
}

// mostRefused is how many policies a refusal names.
const mostRefused = 10

func (s *Set) labelResult(c *call.Call, w *weakening) decision.Result {
	return decision.Result{
		Policy: w.policy.Name, PolicyNamespace: w.policy.Namespace, Rule: stored.RuleNamespaceLabels, Kind: w.policy.Kind,
		Resource: c.Resource(), Status: decision.Pass, Action: s.actionOnLabels(w.policy), Source: c.Request.Source,
		Remedy: decision.RemedyRight,
	}
}

// actionOnLabels is what follows where somebody may not bring about that a policy does
// less: what a DenyPolicy would refuse is refused no more than itself is.
func (s *Set) actionOnLabels(ref stored.Ref) decision.Action {
	if ref.Kind == stored.KindDenyPolicy {
		if i := slices.IndexFunc(s.Deny, func(p *deny.Policy) bool { return p.Name == ref.Name }); i >= 0 {
			return s.Deny[i].Action
		}
	}
	return decision.Enforce
}

// weakened lists the policies that do less after a change, in order.
func (s *Set) weakened(ctx context.Context, n *call.Relabelled) []weakening {
	var found []weakening
	add := func(policy stored.Ref, what string, again func(*call.Relabelled) bool) {
		at := slices.IndexFunc(found, func(w weakening) bool { return w.policy == policy })
		if at < 0 {
			at = len(found)
			found = append(found, weakening{policy: policy})
		}
		w := &found[at]
		w.what = append(w.what, what)
		for _, key := range responsible(n, again) {
			if !slices.Contains(w.labels, key) {
				w.labels = append(w.labels, key)
			}
		}
	}
	s.labelReaders.about(n.Keys, func(reader *labelReader) {
		if what := reader.weaker(ctx, n); what != "" {
			add(reader.policy, what, func(less *call.Relabelled) bool { return reader.weaker(ctx, less) != "" })
		}
	})
	s.widened(ctx, n, add)
	slices.SortStableFunc(found, func(a, b weakening) int {
		return cmp.Or(cmp.Compare(a.policy.Kind, b.policy.Kind), cmp.Compare(a.policy.Namespace, b.policy.Namespace), cmp.Compare(a.policy.Name, b.policy.Name))
	})
	return found
}

// responsible are the labels without whose change nothing would be weaker; all of
// them where there is no such one.
func responsible(n *call.Relabelled, again func(*call.Relabelled) bool) []string {
	if len(n.Keys) == 1 {
		return n.Keys
	}
	var keys []string
	for _, key := range n.Keys {
		if !again(n.Without(key)) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return n.Keys
	}
	return keys
}

// widened adds the policies that exceptions, sessions and automatic approvals excuse
// in the namespace with its new labels and did not with the old ones.
func (s *Set) widened(ctx context.Context, n *call.Relabelled, add func(stored.Ref, string, func(*call.Relabelled) bool)) {
	r := n.Call.Request
	for _, p := range s.Excusing.Widened(ctx, &n.Relabelled, r.Time, r.Elsewhere) {
		what := p.Names.Called() + " excuses more in the namespace"
		again := func(less *call.Relabelled) bool {
			return slices.Contains(s.Excusing.Widened(ctx, &less.Relabelled, r.Time, r.Elsewhere), p)
		}
		for _, policy := range s.inForce(n.Namespace) {
			if p.Excuses(policy.Kind, policy.Namespace, policy.Name) {
				add(policy, what, again)
			}
		}
	}
	for _, name := range s.Sessions.Widened(r.ClusterName, n.Relabelling, n.Keys, r.Time) {
		again := func(less *call.Relabelled) bool {
			return slices.Contains(s.Sessions.Widened(r.ClusterName, less.Relabelling, less.Keys, r.Time), name)
		}
		for _, p := range s.Deny {
			if p.Risk != nil && p.InPlace(n) && !deny.Exempts(p, n.Namespace, n.Before) {
				add(stored.Ref{Kind: stored.KindDenyPolicy, Namespace: "", Name: p.Name}, name+" excuses pods of the namespace (namespaceScope)", again)
			}
		}
	}
	if r.Elsewhere {
		return
	}
	s.Excusing.Rules().AutomaticFor(ctx, &n.Relabelled, func(name string, names []string) {
		again := func(less *call.Relabelled) bool {
			found := false
			s.Excusing.Rules().AutomaticFor(ctx, &less.Relabelled, func(other string, _ []string) { found = found || other == name })
			return found
		}
		for _, policy := range s.inForce(n.Namespace) {
			if slices.ContainsFunc(names, func(pattern string) bool { return glob.Match(pattern, policy.Qualified()) }) {
				add(policy, "ExceptionPolicy "+name+" may approve exceptions of the namespace by itself (approvalCondition)", again)
			}
		}
	})
}

// inForce are the policies that can be about something in a namespace.
func (s *Set) inForce(namespace string) []stored.Ref {
	var all []stored.Ref
	for _, k := range s.ruleNames() {
		if k.namespace == "" || k.namespace == namespace {
			all = append(all, stored.Ref{Kind: k.kind, Namespace: k.namespace, Name: k.name})
		}
	}
	return all
}

// resourceOf is the resource of a kind of policy; empty for what is none.
func resourceOf(kind string) string {
	for _, e := range exception.Excusables() {
		if e.Kind == kind {
			return e.Resource
		}
	}
	return ""
}

// rightsToExempt asks what the requester may exempt from.
type rightsToExempt struct {
	call *call.Call
	// all has the answers about all policies of a kind.
	all map[request.Attributes]bool
}

// fewPolicies is up to how many policies of a kind are asked about one by one; of
// more, it is asked first whether the right is on all of the kind.
const fewPolicies = 4

// exempt asks whether the requester may bring about that a policy does less. A
// policy of a namespace is asked about in it, the others cluster-wide.
func (a *rightsToExempt) exempt(policy stored.Ref, weakened []weakening) (bool, error) {
	r := a.call.Request
	if r.Authorizer == nil {
		return false, call.ErrNoAuthorizer
	}
	right := request.Attributes{
		Verb: deny.VerbExempt, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: resourceOf(policy.Kind), Namespace: policy.Namespace,
	}
	alike := 0
	for i := range weakened {
		if other := &weakened[i].policy; other.Kind == policy.Kind && other.Namespace == policy.Namespace {
			alike++
		}
	}
	if alike > fewPolicies {
		allowed, asked := a.all[right]
		if !asked {
			var err error
			if allowed, err = r.Authorizer.Allowed(a.call.Ctx, r.User, right); err != nil {
				return false, err
			}
			a.all[right] = allowed
		}
		if allowed {
			return true, nil
		}
	}
	right.Name = policy.Name
	return r.Authorizer.Allowed(a.call.Ctx, r.User, right)
}
