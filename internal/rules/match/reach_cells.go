package match

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var coreNamespace = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// maskSize is how many filters a match and an exclude block have together at most.
const maskSize = 2 * (maxFilters + 1)

// mask is a set of filters.
type mask [(maskSize + 63) / 64]uint64

func (m *mask) set(i int)     { m[i/64] |= 1 << (i % 64) }
func (m mask) has(i int) bool { return m[i/64]>>(i%64)&1 == 1 }

func (m mask) and(other *mask) mask {
	for i := range m {
		m[i] &= other[i]
	}
	return m
}

// cell stands for requests that meet the same filters.
type cell struct {
	direct mask
	// maker are the filters that what makes the pod meets by its own kind; empty
	// where nothing does.
	maker mask
}

// cells are all ways in which requests can meet filters.
type cells struct{ list []cell }

// maxCells bounds how many are told apart, and maxOpen how many conditions of one
// kind are combined that nothing is known about.
const (
	maxCells = 1 << 12
	maxOpen  = 8
)

// split tells the cells further apart: the requests of each are those of one of
// the vectors.
func (c *cells) split(vectors []mask) bool {
	vectors = distinct(vectors)
	if len(vectors) == 0 {
		return true
	}
	seen := make(map[cell]bool, len(c.list))
	var list []cell
	for i := range c.list {
		for j := range vectors {
			next := cell{direct: c.list[i].direct.and(&vectors[j]), maker: c.list[i].maker.and(&vectors[j])}
			if seen[next] {
				continue
			}
			if len(list) == maxCells {
				return false
			}
			seen[next] = true
			list = append(list, next)
		}
	}
	c.list = list
	return true
}

func distinct(vectors []mask) []mask {
	seen := make(map[mask]bool, len(vectors))
	return slices.DeleteFunc(vectors, func(v mask) bool {
		was := seen[v]
		seen[v] = true
		return was
	})
}

// by splits the cells by a condition that filters may have. those lists the vectors
// that there can be; where it is nil, each condition may hold or not, whatever the
// others do.
func (c *cells) by(filters []*filter, same func(a, b *filter) bool, given func(*filter) bool, those func([]*filter) []mask) bool {
	var open mask
	var groups []mask
	var first []*filter
	for i, f := range filters {
		if !given(f) {
			open.set(i)
			continue
		}
		at := slices.IndexFunc(first, func(other *filter) bool { return same(other, f) })
		if at < 0 {
			at = len(first)
			first, groups = append(first, f), append(groups, mask{})
		}
		groups[at].set(i)
	}
	switch {
	case len(groups) == 0:
		return true
	case those != nil:
		return c.split(those(filters))
	case len(groups) > maxOpen:
		return false
	}
	vectors := make([]mask, 0, 1<<len(groups))
	for subset := range 1 << len(groups) {
		v := open
		for i := range groups {
			if subset>>i&1 == 1 {
				for word := range v {
					v[word] |= groups[i][word]
				}
			}
		}
		vectors = append(vectors, v)
	}
	return c.split(vectors)
}

// kindValue is a kind with its subresource, or those that filters cannot tell from
// it.
type kindValue struct{ group, version, kind, subresource value }

// meets is Kind.Match.
func (v *kindValue) meets(k *Kind) bool {
	if !v.kind.meets(&k.kind) || !v.version.meets(&k.version) || !v.group.meets(&k.group) {
		return false
	}
	none := v.subresource.text == noSubresource
	if k.subresource.text == "" {
		return none || slices.Contains(changesPods, v.subresource.text) && v.kind.text == "Pod" && v.group.text == coreGroup
	}
	return !none && v.subresource.meets(&k.subresource)
}

// What has no name is written as what no name can be.
const (
	noSubresource = "/"
	coreGroup     = "/"
)

func (v *kindValue) isNamespace() bool {
	return v.kind.text == "Namespace" && v.group.text == coreGroup
}

// byKind splits the cells by kinds and subresources.
func (c *cells) byKind(filters []*filter, makes func(kind string) bool, itself bool) bool {
	values, ok := kindValues(filters)
	if !ok {
		return false
	}
	vector := func(v *kindValue) mask {
		var m mask
		for i, f := range filters {
			if !f.kindEntries.given() || slices.ContainsFunc(f.kinds, func(k Kind) bool { return v.meets(named(&k)) }) {
				m.set(i)
			}
		}
		return m
	}
	var pods, makers []mask
	var next []cell
	for i := range values {
		v := &values[i]
		if v.isNamespace() != itself {
			continue
		}
		if !itself && v.clusterScoped() {
			continue
		}
		m := vector(v)
		next = append(next, cell{direct: m})
		if v.subresource.text != noSubresource {
			continue
		}
		if v.kind.text == "Pod" && v.group.text == coreGroup {
			pods = append(pods, m)
		} else if makes != nil && (v.kind.text == "" || makes(v.kind.text)) {
			makers = append(makers, m)
		}
	}
	if !itself {
		for _, pod := range distinct(pods) {
			for _, maker := range distinct(slices.Clone(makers)) {
				next = append(next, cell{direct: pod, maker: maker})
			}
		}
	}
	seen := map[cell]bool{}
	c.list = slices.DeleteFunc(next, func(one cell) bool {
		was := seen[one]
		seen[one] = true
		return was
	})
	return len(c.list) <= maxCells
}

// clusterScoped reports whether the kind is known to have no namespace; where no
// group is told from others, by its name.
func (v *kindValue) clusterScoped() bool {
	if v.group.text != "" && v.group.text != coreGroup {
		return ClusterScoped(schema.GroupKind{Group: v.group.text, Kind: v.kind.text})
	}
	k := Kind{kind: part{text: v.kind.text}}
	return v.kind.text != "" && k.ClusterScoped()
}

// named is a Kind whose core group has the name that values give it.
func named(k *Kind) *Kind {
	n := *k
	if n.group.text == "" {
		n.group.text = coreGroup
	}
	return &n
}

// maxKinds bounds the combinations of groups, versions, kinds and subresources.
const maxKinds = 1 << 14

func kindValues(filters []*filter) ([]kindValue, bool) {
	groups, versions := []string{coreGroup}, []string{"v1"}
	kinds, subresources := []string{"Pod", "Namespace"}, []string{noSubresource}
	for _, f := range filters {
		for i := range f.kinds {
			k := named(&f.kinds[i])
			groups, versions, kinds = append(groups, k.group.text), append(versions, k.version.text), append(kinds, k.kind.text)
			if k.subresource.text != "" {
				subresources = append(subresources, k.subresource.text)
			}
		}
	}
	var lists [4][]value
	for i, texts := range [][]string{groups, versions, kinds, subresources} {
		values, ok := valuesOf(texts)
		if !ok {
			return nil, false
		}
		lists[i] = values
	}
	if len(lists[0])*len(lists[1])*len(lists[2])*len(lists[3]) > maxKinds {
		return nil, false
	}
	var all []kindValue
	for _, group := range lists[0] {
		for _, version := range lists[1] {
			for _, kind := range lists[2] {
				if clusters := kind.text == "Pod" || kind.text == "Namespace"; clusters && group.text == coreGroup && version.text != "v1" {
					continue
				}
				for _, subresource := range lists[3] {
					all = append(all, kindValue{group, version, kind, subresource})
				}
			}
		}
	}
	return all, true
}
