package exception

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Relabelled is a namespace with other labels than it had.
type Relabelled struct {
	*match.Relabelling
	// Keys are the labels that differ.
	Keys []string
	// Old and New are the Namespace as it was and as it is to be.
	Old, New *corev1.Namespace
}

// labelled is what goes by the labels of namespaces: a pass, with what it covers.
type labelled struct {
	*Exception
	reach *match.Reach
	keys  match.LabelKeys
}

// labelsOf is how a pass goes by the labels of namespaces; nil if it does not.
func labelsOf(p *Exception) *labelled {
	l := &labelled{Exception: p, reach: match.NewReach(p.match, nil, nil, match.Worlds{Inside: true, Itself: !p.bound})}
	l.keys = l.reach.Keys()
	l.keys.Add(p.conditions.LabelKeys())
	if !l.keys.Any() {
		return nil
	}
	return l
}

// Widened are the passes that excuse something in a namespace with its new labels
// and did not with the old ones, unless they are over. elsewhere is set where the
// namespace is in another cluster than the exceptions.
func (s *Set) Widened(ctx context.Context, r *Relabelled, now time.Time, elsewhere bool) []*Exception {
	if s == nil {
		return nil
	}
	var widened []*Exception
	for _, l := range s.labelled {
		if l.keys.Has(r.Keys) && !l.Period.Expired(now) && (!l.bound || !elsewhere && l.namespace == r.Namespace) && l.widens(ctx, r) {
			widened = append(widened, l.Exception)
		}
	}
	return widened
}

func (l *labelled) widens(ctx context.Context, r *Relabelled) bool {
	back := r.Back()
	if l.reach.Loses(back) && l.conditions.MayHold(ctx, r.New) {
		return true
	}
	return l.conditions.MayEnd(ctx, r.New, r.Old, r.Keys) && l.reach.Keeps(back)
}

// AutomaticFor are the ExceptionPolicies that can come to approve requests of the
// namespace by themselves because of its new labels, with what they are about:
// names and patterns, NAMESPACE/NAME for a Policy.
func (r *Rules) AutomaticFor(ctx context.Context, n *Relabelled, visit func(policy string, names []string)) {
	for _, p := range r.policies {
		// Only those that approve by themselves have a condition.
		if p.inNamespace(n.Namespace) && p.condition.MayEnd(ctx, n.New, n.Old, n.Keys) {
			visit(p.name, p.policies)
		}
	}
}

// Excuses reports whether the pass names a policy, whatever rules of it.
func (p *Exception) Excuses(kind, namespace, name string) bool {
	return slices.ContainsFunc(p.rules, func(r ruleName) bool {
		if r.kind != "" && r.kind != kind || r.policy != name && (!r.pattern || !glob.Match(r.policy, name)) {
			return false
		}
		switch {
		case namespace == "":
			return r.namespace == ""
		case r.namespace != "":
			return glob.Match(r.namespace, namespace)
		}
		return r.ownNamespace == namespace
	})
}
