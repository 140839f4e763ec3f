package policy

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// labelReader is a part of a policy that goes by the labels of namespaces.
type labelReader struct {
	policy stored.Ref
	// weaker says what the policy does less after a change than before; empty if
	// nothing.
	weaker func(ctx context.Context, n *call.Relabelled) string
}

// labelReaders finds those that go by a label, so that a change of others costs
// nothing.
type labelReaders struct {
	list []labelReader
	// byKey has their places by the keys that they go by, open those that may go by
	// any.
	byKey map[string][]int
	open  []int
}

func (x *labelReaders) add(policy stored.Ref, keys match.LabelKeys, weaker func(context.Context, *call.Relabelled) string) {
	if !keys.Any() {
		return
	}
	at := len(x.list)
	x.list = append(x.list, labelReader{policy, weaker})
	if keys.All {
		x.open = append(x.open, at)
		return
	}
	for _, key := range keys.Names {
		if key != corev1.LabelMetadataName {
			x.byKey[key] = append(x.byKey[key], at)
		}
	}
}

// about calls visit with each part that may go by one of the labels, in order.
func (x *labelReaders) about(keys []string, visit func(*labelReader)) {
	if x == nil {
		return
	}
	found := slices.Clone(x.open)
	for _, key := range keys {
		found = append(found, x.byKey[key]...)
	}
	slices.Sort(found)
	for _, at := range slices.Compact(found) {
		visit(&x.list[at])
	}
}

// readLabels finds the parts of all policies that go by the labels of namespaces.
func (s *Set) readLabels(k *cache) {
	s.labelReaders = &labelReaders{byKey: map[string][]int{}}
	s.narrowed = map[*clusterpolicy.Rule]*clusterpolicy.RuleReach{}
	for _, p := range s.Deny {
		s.labelReaders.add(stored.Ref{Kind: stored.KindDenyPolicy, Namespace: "", Name: p.Name}, p.LabelKeys(), p.WeakerBy)
	}
	for _, r := range s.rules.All {
		one := k.reachOf(r, s.Registry)
		s.labelReaders.add(stored.Ref{Kind: r.Kind, Namespace: r.Namespace, Name: r.Policy}, one.keys, one.weaker)
		if one.narrowed != nil {
			s.narrowed[r] = one.narrowed
		}
	}
	for _, p := range s.Modules.All {
		s.labelReaders.add(stored.Ref{Kind: p.Rule.Kind, Namespace: p.Rule.Namespace, Name: p.Rule.Policy}, p.LabelKeys(), p.WeakerBy)
	}
}
