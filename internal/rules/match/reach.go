package match

import (
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Relabelling is a change of the labels of a namespace.
type Relabelling struct {
	Namespace     string
	Before, After map[string]string
}

// Back is the change the other way round.
func (c *Relabelling) Back() *Relabelling {
	return &Relabelling{Namespace: c.Namespace, Before: c.After, After: c.Before}
}

// Worlds are the requests that a block is asked about.
type Worlds struct {
	// Inside are requests about what is in the namespace, Itself those about the
	// Namespace, which is matched by its own labels.
	Inside, Itself bool
}

// Reach says what becomes of the requests that a match block, without what an
// exclude block takes out, is about when the labels of a namespace change. It is
// safe for concurrent use.
//
// What the labels do not decide about a filter, such as kinds, names and users, is
// left open: every way in which a request can meet some of the filters and not the
// others is a cell, and each cell is judged with the labels of before and after.
type Reach struct {
	match, exclude *Match
	// makers are the kinds that the block, written for Pods, is also about as they make
	// pods, and that can be excluded by their own kind; nil for none.
	makers func(kind string) bool
	worlds Worlds
	keys   LabelKeys

	once           sync.Once
	inside, itself *cells
}

// NewReach makes the Reach of blocks. exclude and makers may be nil; makers says which
// kinds make the Pods that the block is about.
func NewReach(match, exclude *Match, makers func(kind string) bool, worlds Worlds) *Reach {
	r := &Reach{match: match, exclude: exclude, makers: makers, worlds: worlds}
	r.eachFilter(func(f *filter, _ bool, _ int) {
		if f.namespaceSelector != nil {
			r.keys.Add(f.namespaceSelector.keys())
		}
		if f.selector != nil && worlds.Itself && f.aboutNamespaces() {
			r.keys.Add(f.selector.keys())
		}
	})
	return r
}

// Keys are the labels that it goes by.
func (r *Reach) Keys() LabelKeys { return r.keys }

// Loses reports whether some request was covered before the change and is not
// covered after it.
func (r *Reach) Loses(c *Relabelling) bool {
	return r.some(c, func(before, after bool) bool { return before && !after })
}

// Keeps reports whether some request was covered before and is covered after.
func (r *Reach) Keeps(c *Relabelling) bool {
	return r.some(c, func(before, after bool) bool { return before && after })
}

func (r *Reach) some(c *Relabelling, want func(before, after bool) bool) bool {
	if r.match == nil {
		return false
	}
	r.once.Do(func() {
		r.inside, r.itself = r.cellsOf(false), r.cellsOf(true)
	})
	return r.worlds.Inside && r.someIn(r.inside, c, false, want) || r.worlds.Itself && r.someIn(r.itself, c, true, want)
}

func (r *Reach) someIn(in *cells, c *Relabelling, itself bool, want func(before, after bool) bool) bool {
	before, after := r.known(c.Namespace, c.Before, itself), r.known(c.Namespace, c.After, itself)
	if in == nil {
		// There are too many to go through: what may be is assumed to be.
		return r.mayBe(before, after, want)
	}
	for i := range in.list {
		cell := &in.list[i]
		if want(r.covers(cell, &before), r.covers(cell, &after)) {
			return true
		}
	}
	return false
}

// mayBe is asked in place of cells. A filter of the match block that holds no
// more, or one of the exclude block that holds now, may be the only one that
// decides.
func (r *Reach) mayBe(before, after mask, want func(before, after bool) bool) bool {
	if want(true, true) {
		return true
	}
	lost := false
	r.eachFilter(func(_ *filter, excludes bool, at int) {
		was, is := before.has(at), after.has(at)
		if excludes {
			was, is = is, was
		}
		lost = lost || was && !is
	})
	return lost && want(true, false)
}

// covers reports whether the requests of a cell are covered where the filters in
// known hold as far as the namespace decides.
func (r *Reach) covers(cell *cell, known *mask) bool {
	direct := cell.direct.and(known)
	if !r.holds(r.match, direct, 0) {
		return false
	}
	if r.exclude == nil {
		return true
	}
	return !r.holds(r.exclude, direct, len(r.match.filters)) && !r.holds(r.exclude, cell.maker.and(known), len(r.match.filters))
}

func (r *Reach) holds(m *Match, met mask, from int) bool {
	if m.open {
		return true
	}
	for i := range m.filters {
		if met.has(from+i) != m.all {
			return !m.all
		}
	}
	return m.all
}

// known are the filters that hold as far as the namespace and its labels decide.
func (r *Reach) known(namespace string, set map[string]string, itself bool) mask {
	var known mask
	r.eachFilter(func(f *filter, _ bool, at int) {
		if f.namespaceEntries.given() && !f.namespaces.Match(namespace) || f.namespaceSelector != nil && !f.namespaceSelector.match(set) {
			return
		}
		if itself && (f.nameEntries.given() && !f.names.Match(namespace) || f.selector != nil && !f.selector.match(set)) {
			return
		}
		known.set(at)
	})
	return known
}

func (r *Reach) eachFilter(visit func(f *filter, excludes bool, at int)) {
	at := 0
	for _, m := range []*Match{r.match, r.exclude} {
		if m == nil {
			continue
		}
		for i := range m.filters {
			visit(&m.filters[i], m == r.exclude, at)
			at++
		}
	}
}

func (f *filter) aboutNamespaces() bool {
	return !f.kindEntries.given() || slices.ContainsFunc(f.kinds, func(k Kind) bool { return k.Match(coreNamespace, "") })
}

// cellsOf lists the ways in which requests can meet filters, labels and names of
// the namespace left aside; nil if there are too many.
func (r *Reach) cellsOf(itself bool) *cells {
	var filters []*filter
	r.eachFilter(func(f *filter, _ bool, _ int) { filters = append(filters, f) })
	if len(filters) > maskSize {
		return nil
	}
	c := &cells{}
	ok := c.byKind(filters, r.makers, itself) &&
		c.by(filters, func(a, b *filter) bool { return a.operations == b.operations }, func(f *filter) bool { return f.operations != 0 }, operationsOf) &&
		c.by(filters, func(a, b *filter) bool { return reflect.DeepEqual(a.annotations, b.annotations) }, func(f *filter) bool { return f.annotations != nil }, nil) &&
		c.by(filters, func(a, b *filter) bool { return reflect.DeepEqual(a.user, b.user) }, func(f *filter) bool { return f.user != nil }, nil)
	if !itself {
		ok = ok && c.by(filters, sameSelector, func(f *filter) bool { return f.selector != nil }, nil) && c.byName(filters)
	}
	if !ok {
		return nil
	}
	return c
}

func sameSelector(a, b *filter) bool { return equalSelectors(a.selector, b.selector) }

func equalSelectors(a, b *selector) bool {
	if a == nil || b == nil {
		return a == b
	}
	if !reflect.DeepEqual(a.labels, b.labels) {
		return false
	}
	text := func(s labels.Selector) string {
		if s == nil {
			return ""
		}
		return s.String()
	}
	return text(a.expressions) == text(b.expressions)
}

// operationsOf are the vectors of the operations that there are.
func operationsOf(filters []*filter) []mask {
	var vectors []mask
	for _, operation := range knownOperations {
		var v mask
		for i, f := range filters {
			if f.operations.match(operation) {
				v.set(i)
			}
		}
		vectors = append(vectors, v)
	}
	return vectors
}

// byName splits the cells by the names that filters tell apart.
func (c *cells) byName(filters []*filter) bool {
	var texts []string
	for _, f := range filters {
		texts = append(texts, f.nameEntries.values...)
	}
	values, ok := valuesOf(texts)
	if !ok {
		return false
	}
	vectors := make([]mask, 0, len(values))
	for i := range values {
		var v mask
		for at, f := range filters {
			if !f.nameEntries.given() || slices.ContainsFunc(f.nameEntries.values, func(entry string) bool {
				p := newPart(entry)
				return values[i].meets(&p)
			}) {
				v.set(at)
			}
		}
		vectors = append(vectors, v)
	}
	return c.split(vectors)
}

// value stands for names that filters cannot tell apart: one that is written out,
// or any other that meets some of the patterns.
type value struct {
	text     string
	patterns []string
}

func (v *value) meets(p *part) bool {
	switch {
	case p.any:
		return true
	case p.pattern && v.text == "":
		return slices.Contains(v.patterns, p.text)
	}
	return v.text != "" && p.match(v.text)
}

// mostPatterns bounds how many patterns are combined with each other.
const mostPatterns = 6

// valuesOf are the values that the entries of lists tell apart; not ok if there
// are too many.
func valuesOf(texts []string) (values []value, ok bool) {
	var exact, patterns []string
	for _, text := range texts {
		p := newPart(text)
		switch {
		case p.any:
		case p.pattern:
			patterns = append(patterns, text)
		default:
			exact = append(exact, text)
		}
	}
	slices.Sort(exact)
	slices.Sort(patterns)
	exact, patterns = slices.Compact(exact), slices.Compact(patterns)
	if len(patterns) > mostPatterns {
		return nil, false
	}
	for _, text := range exact {
		values = append(values, value{text: text})
	}
	for subset := range 1 << len(patterns) {
		var v value
		for i, pattern := range patterns {
			if subset>>i&1 == 1 {
				v.patterns = append(v.patterns, pattern)
			}
		}
		if possible(v.patterns) {
			values = append(values, v)
		}
	}
	return values, true
}

// possible reports whether one name can meet all patterns, as far as their
// beginnings and ends tell.
func possible(patterns []string) bool {
	for i, a := range patterns {
		for _, b := range patterns[i+1:] {
			if !agree(a, b) || !agree(reversed(a), reversed(b)) {
				return false
			}
		}
	}
	return true
}

func agree(a, b string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] == '*' || b[i] == '*' {
			return true
		}
		if a[i] != b[i] && a[i] != '?' && b[i] != '?' {
			return false
		}
	}
	return len(a) == len(b) || glob.IsPattern(a[min(len(a), len(b)):]) || glob.IsPattern(b[min(len(a), len(b)):])
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}
