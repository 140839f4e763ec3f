package policy

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/wire"
)

// relabelled is a change of a namespace's labels, as a request would make it.
type relabelled struct {
	pass.Relabelled
	call *call
}

// relabelling reads a change of labels out of a request that writes a namespace; nil
// where there is none. A namespace that is made is compared with one of no labels. The
// label with its own name, which the API server sets, is the same before and after.
func (c *call) relabelling() (*relabelled, error) {
	r := c.request
	object := r.Object
	var before map[string]string
	if r.OldObject != nil {
		before = r.OldObject.Meta.Labels
	}
	keys := differing(before, object.Meta.Labels)
	if len(keys) == 0 {
		return nil, nil
	}
	name := object.Meta.Name
	if name == "" {
		name = r.Name
	}
	n := &relabelled{call: c}
	var err error
	if n.Old, n.New = (&corev1.Namespace{}), (&corev1.Namespace{}); r.OldObject != nil {
		err = wire.Unmarshal(r.OldObject.Raw, n.Old)
	}
	if err == nil {
		err = wire.Unmarshal(object.Raw, n.New)
	}
	if err != nil {
		return nil, err
	}
	if r.OldObject == nil {
		n.Old = n.New.DeepCopy()
		n.Old.Labels = nil
	}
	n.Keys = keys
	n.label(name, before, object.Meta.Labels)
	return n, nil
}

// label puts labels before and after the change.
func (n *relabelled) label(name string, before, after map[string]string) {
	named := func(labels map[string]string) map[string]string {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[corev1.LabelMetadataName] = name
		return labels
	}
	n.Relabelling = &match.Relabelling{Namespace: name, Before: named(before), After: named(after)}
	n.Old.Labels, n.New.Labels = n.Before, n.After
}

// without is the change with one label left as it was.
func (n *relabelled) without(key string) *relabelled {
	after := maps.Clone(n.After)
	if value, ok := n.Before[key]; ok {
		after[key] = value
	} else {
		delete(after, key)
	}
	less := &relabelled{call: n.call}
	less.Old, less.New = n.Old, n.New.DeepCopy()
	less.Keys = slices.DeleteFunc(slices.Clone(n.Keys), func(other string) bool { return other == key })
	less.label(n.Namespace, n.Before, after)
	return less
}

// differing are the keys of the labels that are not the same.
func differing(before, after map[string]string) []string {
	var keys []string
	for key, value := range after {
		if was, ok := before[key]; (!ok || was != value) && key != corev1.LabelMetadataName {
			keys = append(keys, key)
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok && key != corev1.LabelMetadataName {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// labelReader is a part of a policy that goes by the labels of namespaces.
type labelReader struct {
	policy PolicyRef
	// weaker says what the policy does less after a change than before; empty if
	// nothing.
	weaker func(ctx context.Context, n *relabelled) string
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

func (x *labelReaders) add(policy PolicyRef, keys match.LabelKeys, weaker func(context.Context, *relabelled) string) {
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
func (s *Set) readLabels(k *kept) {
	s.labelReaders = &labelReaders{byKey: map[string][]int{}}
	s.narrowed = map[*rule]*ruleReach{}
	for _, p := range s.deny {
		s.labelReaders.add(PolicyRef{KindDenyPolicy, "", p.name}, p.labelKeys(), p.weakerBy)
	}
	for _, r := range s.rules.all {
		one := k.reachOf(r, s.pods)
		s.labelReaders.add(PolicyRef{r.kind, r.namespace, r.policy}, one.keys, one.weaker)
		if one.narrowed != nil {
			s.narrowed[r] = one.narrowed
		}
	}
	for _, p := range s.modules.all {
		s.labelReaders.add(PolicyRef{p.rule.kind, p.rule.namespace, p.rule.policy}, p.labelKeys(), p.weakerBy)
	}
}
