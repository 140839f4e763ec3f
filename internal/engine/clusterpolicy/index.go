package clusterpolicy

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/call"
)

// Index finds the rules that can be about a kind, so that a decision costs
// nothing for the others.
type Index struct {
	All []*Rule
	// byKind has the rules whose match names the kind, open those that match
	// kinds by wildcard, and generated those that hold for whatever makes pods.
	byKind          map[string][]*Rule
	open, generated []*Rule
	position        map[*Rule]int
}

// Add adds rules, before Order.
func (x *Index) Add(rules []*Rule) { x.All = append(x.All, rules...) }

// Order sorts the rules, those of cluster policies first, and builds the index.
// Rules of one policy keep the order in which they stand there.
func (x *Index) Order() {
	slices.SortStableFunc(x.All, func(a, b *Rule) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Policy, b.Policy))
	})
	x.byKind, x.position = map[string][]*Rule{}, make(map[*Rule]int, len(x.All))
	for i, r := range x.All {
		x.position[r] = i
		if r.Generated.On {
			x.generated = append(x.generated, r)
		}
		kinds, exact := r.Match.ExactKinds()
		if !exact {
			x.open = append(x.open, r)
			continue
		}
		for kind := range kinds {
			x.byKind[kind] = append(x.byKind[kind], r)
		}
	}
}

// About calls visit with each rule that may be about the kind, in order.
func (x *Index) About(kind schema.GroupKind, visit func(*Rule)) {
	named := x.byKind[kind.Kind]
	generated := x.generated
	if call.IsPod(kind) {
		generated = nil
	}
	lists := [3][]*Rule{named, x.open, generated}
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
		r := x.All[at]
		for i, list := range lists {
			if len(list) > 0 && list[0] == r {
				lists[i] = list[1:]
			}
		}
		visit(r)
	}
}
