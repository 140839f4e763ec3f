package pod

import (
	"fmt"
	"maps"
	"slices"
)

// node is a place that some paths of a kind lead through, or end at. The paths
// of a kind are merged into one tree of nodes when the registry is built, so that
// an object is walked once, whatever the number of paths.
type node struct {
	leaf leaf
	// from is the path that ends here.
	from string
	// at is the place in words, if it is the same in every object: no step on the
	// way to it is a wildcard.
	at string

	fields       map[string]*node
	everyField   *node
	elements     map[int]*node
	everyElement *node
}

// leaf says what stands where a path ends.
type leaf struct {
	form form
	// completed is set where a controller adds to what stands there.
	completed bool
	// parts say what becomes what of the pod, for the form assembled.
	parts *parts
}

type form uint8

const (
	noForm    form = iota
	template       // metadata and spec
	specOnly       // a pod spec
	assembled      // parts of a pod, see parts
)

// String says in words what a leaf is registered for.
func (l leaf) String() string {
	text := [...]string{"nothing", "pod templates", "pod specs", "parts of pods"}[l.form]
	if l.completed {
		text += " that are completed"
	}
	return text
}

func (l leaf) same(other leaf) bool {
	return l.form == other.form && l.completed == other.completed && l.parts.String() == other.parts.String()
}

// add takes a path into the tree below n.
func (n *node) add(p path, l leaf) error {
	at := n
	for _, s := range p {
		at = at.child(s)
	}
	if at.leaf.form != noForm && !at.leaf.same(l) {
		if at.leaf.String() == l.String() {
			return fmt.Errorf("path %q is registered twice for %s, and not for the same ones", p, l)
		}
		return fmt.Errorf("path %q is registered both for %s and for %s", p, at.leaf, l)
	}
	at.leaf, at.from = l, p.String()
	return nil
}

func (n *node) child(s step) *node {
	switch s.kind {
	case field:
		return intoMap(&n.fields, s.name)
	case everyField:
		return orNew(&n.everyField)
	case element:
		return intoMap(&n.elements, s.at)
	default:
		return orNew(&n.everyElement)
	}
}

func intoMap[K comparable](m *map[K]*node, key K) *node {
	if *m == nil {
		*m = map[K]*node{}
	}
	child := (*m)[key]
	if child == nil {
		child = &node{}
		(*m)[key] = child
	}
	return child
}

func orNew(n **node) *node {
	if *n == nil {
		*n = &node{}
	}
	return *n
}

// merged gives one tree that leads wherever one of nodes leads: below a field
// that is named and one that a wildcard takes in as well, both go on. A path that
// ends inside a pod that another one leads to is an error.
func merged(nodes []*node) (*node, error) {
	m := &node{}
	for _, n := range nodes {
		switch {
		case n.leaf.form == noForm:
		case m.leaf.form != noForm && !m.leaf.same(n.leaf):
			return nil, fmt.Errorf("paths %q and %q meet, one for %s and one for %s", m.from, n.from, m.leaf, n.leaf)
		default:
			m.leaf, m.from = n.leaf, n.from
		}
	}
	var err error
	if m.everyField, err = mergedOrNil(each(nodes, func(n *node) *node { return n.everyField })); err != nil {
		return nil, err
	}
	if m.everyElement, err = mergedOrNil(each(nodes, func(n *node) *node { return n.everyElement })); err != nil {
		return nil, err
	}
	if m.fields, err = mergedMaps(nodes,
		func(n *node) map[string]*node { return n.fields }, func(n *node) *node { return n.everyField }); err != nil {
		return nil, err
	}
	if m.elements, err = mergedMaps(nodes,
		func(n *node) map[int]*node { return n.elements }, func(n *node) *node { return n.everyElement }); err != nil {
		return nil, err
	}
	// Beside parts of a pod, others may stand with pods of their own.
	if below := m.anyBelow(); m.leaf.form != noForm && m.leaf.form != assembled && below != nil {
		return nil, fmt.Errorf("path %q leads into the pod that path %q leads to", below.firstPath(), m.from)
	}
	return m, nil
}

func mergedMaps[K comparable](nodes []*node, named func(*node) map[K]*node, every func(*node) *node) (map[K]*node, error) {
	var out map[K]*node
	for _, n := range nodes {
		for key := range named(n) {
			if out[key] != nil {
				continue
			}
			below := each(nodes, func(n *node) *node { return named(n)[key] })
			child, err := merged(append(below, each(nodes, every)...))
			if err != nil {
				return nil, err
			}
			if out == nil {
				out = map[K]*node{}
			}
			out[key] = child
		}
	}
	return out, nil
}

func mergedOrNil(nodes []*node) (*node, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	return merged(nodes)
}

func each(nodes []*node, get func(*node) *node) []*node {
	var out []*node
	for _, n := range nodes {
		if child := get(n); child != nil {
			out = append(out, child)
		}
	}
	return out
}

func (n *node) anyBelow() *node {
	for _, child := range n.fields {
		return child
	}
	for _, child := range n.elements {
		return child
	}
	if n.everyField != nil {
		return n.everyField
	}
	return n.everyElement
}

func (n *node) firstPath() string {
	for n.leaf.form == noForm {
		n = n.anyBelow()
	}
	return n.from
}

// takesObjects reports whether an object can stand here.
func (n *node) takesObjects() bool { return n.fields != nil || n.everyField != nil }

// takesLists reports whether a list can stand here.
func (n *node) takesLists() bool { return n.elements != nil || n.everyElement != nil }

func (n *node) field(name string) *node {
	if child := n.fields[name]; child != nil {
		return child
	}
	return n.everyField
}

func (n *node) element(i int) *node {
	if child := n.elements[i]; child != nil {
		return child
	}
	return n.everyElement
}

// fieldNames in order.
func (n *node) fieldNames() []string { return slices.Sorted(maps.Keys(n.fields)) }
