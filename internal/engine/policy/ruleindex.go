package policy

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ruleIndex finds the rules that can be about a kind, so that a decision costs
// nothing for the others.
type ruleIndex struct {
	all []*rule
	// byKind has the rules whose match names the kind, open those that match
	// kinds by wildcard, and generated those that hold for whatever makes pods.
	byKind          map[string][]*rule
	open, generated []*rule
	position        map[*rule]int
}

func (x *ruleIndex) add(rules []*rule) { x.all = append(x.all, rules...) }

// order sorts the rules, those of cluster policies first, and builds the index.
// Rules of one policy keep the order in which they stand there.
func (x *ruleIndex) order() {
	slices.SortStableFunc(x.all, func(a, b *rule) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.policy, b.policy))
	})
	x.byKind, x.position = map[string][]*rule{}, make(map[*rule]int, len(x.all))
	for i, r := range x.all {
		x.position[r] = i
		if r.generated.on {
			x.generated = append(x.generated, r)
		}
		kinds, exact := r.match.ExactKinds()
		if !exact {
			x.open = append(x.open, r)
			continue
		}
		for kind := range kinds {
			x.byKind[kind] = append(x.byKind[kind], r)
		}
	}
}

// about calls visit with each rule that may be about the kind, in order.
func (x *ruleIndex) about(kind schema.GroupKind, visit func(*rule)) {
	named := x.byKind[kind.Kind]
	generated := x.generated
	if isPod(kind) {
		generated = nil
	}
	lists := [3][]*rule{named, x.open, generated}
	for {
		next, at := -1, 0
		for i, list := range lists {
			if len(list) > 0 && (next < 0 || x.position[list[0]] < at) {
				next, at = i, x.position[list[0]]
			}
		}
		if next < 0 {
			return
		}
		r := x.all[at]
		for i, list := range lists {
			if len(list) > 0 && list[0] == r {
				lists[i] = list[1:]
			}
		}
		visit(r)
	}
}
