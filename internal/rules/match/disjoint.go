package match

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// conflict is a field in which two filters have nothing in common, with what each of
// them says there.
type conflict struct{ what, one, other string }

// contradiction finds two filters that all have to hold and never do together.
func (m *Match) contradiction() (conflict, int, int, bool) {
	if m == nil || !m.all {
		return conflict{}, 0, 0, false
	}
	for i := range m.filters {
		for j := range i {
			if c, ok := m.filters[j].apart(&m.filters[i], true); ok {
				return c, j, i, true
			}
		}
	}
	return conflict{}, 0, 0, false
}

// Contradiction says of a block of filters that all have to hold why they never do; "" if
// they may.
func (m *Match) Contradiction() string {
	c, i, j, ok := m.contradiction()
	if !ok {
		return ""
	}
	return fmt.Sprintf("matches no request: [%d] and [%d] have no %s in common (%s, and %s), and all have to hold; write any in place of all where one of them is enough, else the %s that are meant into one of them", i, j, c.what, c.one, c.other, c.what)
}

// apart says in which field two filters have nothing in common, so that no request meets
// both; false where none is found. Kinds count only if they are asked for.
func (f *filter) apart(g *filter, byKinds bool) (conflict, bool) {
	switch {
	case byKinds && len(f.kinds) > 0 && len(g.kinds) > 0 && !slices.ContainsFunc(f.kinds, func(k Kind) bool {
		return slices.ContainsFunc(g.kinds, func(other Kind) bool { return k.meets(&other) })
	}):
		return conflict{"kinds", listed(f.kindEntries.values), listed(g.kindEntries.values)}, true
	case f.operations != 0 && g.operations != 0 && f.operations&g.operations == 0:
		return conflict{"operations", "[" + f.operations.String() + "]", "[" + g.operations.String() + "]"}, true
	case f.nameEntries.apart(&g.nameEntries):
		return conflict{"names", listed(f.nameEntries.values), listed(g.nameEntries.values)}, true
	case f.namespaceEntries.apart(&g.namespaceEntries):
		return conflict{"namespaces", listed(f.namespaceEntries.values), listed(g.namespaceEntries.values)}, true
	case byKinds && (f.inNone() && g.goesByNamespace() || g.inNone() && f.goesByNamespace()):
		if g.inNone() {
			f, g = g, f
		}
		return conflict{"namespaces", listed(f.kindEntries.values) + ", which are in none", "one that is asked for"}, true
	case f.user.apart(g.user):
		return conflict{"subjects", listed(f.user.users.Entries()), listed(g.user.users.Entries())}, true
	}
	for _, own := range []struct {
		what         string
		one, another *selector
	}{
		{"labels", f.selector, g.selector}, {"labels of namespaces", f.namespaceSelector, g.namespaceSelector},
		{"annotations", &selector{labels: f.annotations}, &selector{labels: g.annotations}},
	} {
		if key, ok := own.one.apart(own.another); ok {
			return conflict{own.what, "one value of " + key, "another"}, true
		}
	}
	return conflict{}, false
}

func listed(values []string) string { return "[" + strings.Join(values, ", ") + "]" }

// apart reports whether both lists are given and no name is in both.
func (e *entries) apart(other *entries) bool {
	return e.given() && other.given() && !slices.ContainsFunc(e.values, func(one string) bool {
		return slices.ContainsFunc(other.values, func(another string) bool { return glob.Overlap(one, another) })
	})
}

func (f *filter) goesByNamespace() bool {
	return f.namespaceEntries.given() || f.namespaceSelector != nil
}

// inNone reports whether the filter is only about kinds that are in no namespace. A
// Namespace goes by its own name and labels.
func (f *filter) inNone() bool {
	return len(f.kinds) > 0 && !slices.ContainsFunc(f.kinds, func(k Kind) bool {
		return !k.BuiltIn() || !k.ClusterScoped() || k.kind.text == "Namespace"
	})
}

// apart reports whether no one is among the users of both. Whoever is a user may be in
// any group.
func (c *userConditions) apart(other *userConditions) bool {
	if c == nil || other == nil || !c.hasSubjects || !other.hasSubjects || len(c.groups.Entries())+len(other.groups.Entries()) > 0 {
		return false
	}
	users := other.users.Entries()
	return !slices.ContainsFunc(c.users.Entries(), func(one string) bool {
		return slices.ContainsFunc(users, func(another string) bool { return glob.Overlap(one, another) })
	})
}

// entered are subresources that are not written as the whole object: no request for one
// of them is about the object too.
var entered = []string{"attach", "binding", "eviction", "exec", "log", "portforward", "proxy", "token"}

// meets reports whether a request can be about what both entries name. What is written
// to a subresource may change the labels of the object as well.
func (k *Kind) meets(other *Kind) bool {
	if !glob.Overlap(k.kind.text, other.kind.text) || !glob.Overlap(k.version.text, other.version.text) || !glob.Overlap(k.group.text, other.group.text) {
		return false
	}
	a, b := k.subresource.text, other.subresource.text
	switch {
	case a == b:
		return true
	case a == "":
		return !slices.Contains(entered, b)
	case b == "":
		return !slices.Contains(entered, a)
	}
	return glob.Overlap(a, b)
}

// apart names a label of which two selectors ask for what no object has at once.
func (s *selector) apart(other *selector) (string, bool) {
	if s == nil || other == nil {
		return "", false
	}
	for _, p := range s.labels {
		for _, q := range other.labels {
			if !p.key.pattern && p.key.text == q.key.text && !glob.Overlap(p.value.text, q.value.text) {
				return p.key.text, true
			}
		}
	}
	if key, ok := s.refusedBy(other); ok {
		return key, true
	}
	return other.refusedBy(s)
}

// refusedBy names a label that has one of some values here, none of which the
// expressions of another selector allow.
func (s *selector) refusedBy(other *selector) (string, bool) {
	if other.expressions == nil {
		return "", false
	}
	requirements, _ := other.expressions.Requirements()
	for _, asked := range s.asks() {
		for i := range requirements {
			r := &requirements[i]
			if r.Key() == asked.key && !slices.ContainsFunc(asked.values, func(value string) bool { return r.Matches(labels.Set{asked.key: value}) }) {
				return asked.key, true
			}
		}
	}
	return "", false
}

// askedLabel is a label that has to have one of some values.
type askedLabel struct {
	key    string
	values []string
}

func (s *selector) asks() []askedLabel {
	var asked []askedLabel
	for _, p := range s.labels {
		if !p.key.pattern && !p.value.pattern {
			asked = append(asked, askedLabel{p.key.text, []string{p.value.text}})
		}
	}
	if s.expressions == nil {
		return asked
	}
	requirements, _ := s.expressions.Requirements()
	for i := range requirements {
		switch r := &requirements[i]; r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			asked = append(asked, askedLabel{r.Key(), r.ValuesUnsorted()})
		}
	}
	return asked
}

// ExcludesNothing calls say with each filter of an exclude block that takes out nothing
// of what the block is about, for another reason than its kinds. namespace is that of a
// policy which is about its own only; path is that of the exclude block.
func (m *Match) ExcludesNothing(exclude *Match, namespace string, path *field.Path, say func(at *field.Path, what, one, other string)) {
	if m == nil || m.open || exclude == nil || exclude.open {
		return
	}
	own := filter{}
	if namespace != "" {
		own.namespaceEntries = entries{values: []string{namespace}}
	}
	for i := range exclude.filters {
		x := &exclude.filters[i]
		if c, ok := x.apart(&own, false); ok {
			say(x.place.in(path), c.what, c.one, c.other)
			continue
		}
		var last conflict
		apart := 0
		for j := range m.filters {
			if c, ok := x.apart(&m.filters[j], false); ok {
				last, apart = c, apart+1
			}
		}
		if apart == len(m.filters) || m.all && apart > 0 {
			say(x.place.in(path), last.what, last.one, last.other)
		}
	}
}
