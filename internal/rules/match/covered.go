package match

import (
	"reflect"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Coverage is how much of what a block is about another takes out.
type Coverage struct {
	// All is set for all of it, except for what the others say.
	All bool
	// Anonymous is left where that is all that people who are signed in ask, and InNone
	// where it is all that is in a namespace.
	Anonymous, InNone bool
}

// But says what is left, as the end of a sentence; "" for nothing.
func (c Coverage) But() string {
	switch {
	case c.Anonymous && c.InNone:
		return ", except for anonymous requests and what is in no namespace"
	case c.Anonymous:
		return ", except for anonymous requests"
	case c.InNone:
		return ", except for what is in no namespace"
	}
	return ""
}

// Space says what is known, beside the block, of the requests that it is about.
type Space struct {
	// Namespace is that of a policy which is about its own only.
	Namespace string
	// MayBeInNone is set where more may be in no namespace than the kinds tell, and
	// Namespaced where all is in one.
	MayBeInNone, Namespaced bool
	// EveryKind is set where the block is about other kinds as well, such as all that
	// make the pods that it names.
	EveryKind bool
	// Rule is set for rules, which are not asked about DELETE.
	Rule bool
}

// mostPortions bounds how many portions of a block are looked at.
const mostPortions = 512

// portion is a part of what a block is about: one entry of each list.
type portion struct {
	kind            *Kind
	operation       operations
	namespace, name string
	// user and group are who asks; neither: roles decide.
	user, group string
	// inNamespace and hasName are set where all of it is known to be in a namespace, and to
	// have a name.
	inNamespace, hasName bool
	// met are the filters of the block that hold for it.
	met []*filter
}

// Covered says how much of what the block is about another one is about too, by what
// is written. What takes more than that to tell is assumed not to be.
func (m *Match) Covered(by *Match, in Space) Coverage {
	if m == nil || by == nil || len(m.filters) == 0 && !m.open {
		return Coverage{}
	}
	if by.open {
		return Coverage{All: true}
	}
	groups := [][]*filter{}
	switch {
	case m.open:
		groups = append(groups, nil)
	case m.all:
		groups = append(groups, pointers(m.filters))
	default:
		for i := range m.filters {
			groups = append(groups, []*filter{&m.filters[i]})
		}
	}
	all := Coverage{All: true}
	for _, group := range groups {
		portions, ok := portionsOf(group, &in)
		if !ok {
			return Coverage{}
		}
		// Of some that no one is signed in for, or that is all, something has to be covered.
		some := false
		for i := range portions {
			c := by.takes(&portions[i])
			if !c.All && portions[i].group == user.AllUnauthenticated && portions[i].free() {
				all.Anonymous = true
				continue
			}
			if !c.All {
				return Coverage{}
			}
			some = true
			all.InNone = all.InNone || c.InNone
		}
		if !some {
			return Coverage{}
		}
	}
	return all
}

// takes says how much of a portion a block is about.
func (m *Match) takes(p *portion) Coverage {
	if m.all {
		all := Coverage{All: len(m.filters) > 0}
		for i := range m.filters {
			c := m.filters[i].takes(p)
			all.All, all.InNone = all.All && c.All, all.InNone || c.InNone
		}
		return all
	}
	best := Coverage{}
	for i := range m.filters {
		if c := m.filters[i].takes(p); c.All && (!best.All || best.InNone) {
			best = c
		}
	}
	return best
}

func (f *filter) takes(p *portion) Coverage {
	met := func(holds func(*filter) bool) bool { return slices.ContainsFunc(p.met, holds) }
	switch {
	case f.operations != 0 && (p.operation == 0 || f.operations&p.operation == 0),
		f.kindEntries.given() && !slices.ContainsFunc(f.kinds, func(k Kind) bool { return k.includes(p.kind) }),
		f.nameEntries.given() && !p.namedBy(f.nameEntries.values),
		f.selector != nil && !met(func(own *filter) bool { return own.selector.implies(f.selector) }),
		f.namespaceSelector != nil && !met(func(own *filter) bool { return own.namespaceSelector.implies(f.namespaceSelector) }),
		slices.ContainsFunc(f.annotations, func(a pair) bool {
			return !met(func(own *filter) bool { return slices.Contains(own.annotations, a) })
		}),
		f.user != nil && !f.user.takes(p):
		return Coverage{}
	}
	c := Coverage{All: true}
	if f.namespaceEntries.given() {
		every := slices.ContainsFunc(f.namespaceEntries.values, glob.Everything)
		switch {
		case p.namespace != "" && glob.Includes(f.namespaceEntries.values, []string{p.namespace}):
		case !every:
			return Coverage{}
		default:
			c.InNone = !p.inNamespace
		}
	}
	return c
}

// namedBy reports whether names or patterns take in all names of the portion.
func (p *portion) namedBy(patterns []string) bool {
	return p.name != "" && glob.Includes(patterns, []string{p.name}) || slices.ContainsFunc(patterns, func(pattern string) bool {
		return glob.Everything(pattern) && (p.hasName || glob.Match(pattern, ""))
	})
}

// free reports whether nothing is asked of who asks.
func (p *portion) free() bool {
	return !slices.ContainsFunc(p.met, func(f *filter) bool { return f.user != nil })
}

// includes reports whether the entry is about all that another is about.
func (k *Kind) includes(other *Kind) bool {
	if other == nil {
		return false
	}
	of := func(a, b *part) bool {
		return a.any || a.text == b.text || !b.any && glob.Includes([]string{a.text}, []string{b.text})
	}
	if !of(&k.kind, &other.kind) || !of(&k.version, &other.version) || !of(&k.group, &other.group) {
		return false
	}
	switch {
	case k.subresource.any || k.subresource.text == other.subresource.text:
		return true
	case k.subresource.text == "":
		return other.namesPods() && slices.Contains(changesPods, other.subresource.text)
	}
	return other.subresource.text != "" && of(&k.subresource, &other.subresource)
}

// implies reports whether all that the selector selects another selects too, by what is
// written.
func (s *selector) implies(other *selector) bool {
	if s == nil {
		return false
	}
	if equalSelectors(s, other) {
		return true
	}
	return other.expressions == nil && !slices.ContainsFunc(other.labels, func(p pair) bool { return !slices.Contains(s.labels, p) })
}

// takes reports whether the conditions hold for whoever asks.
func (c *userConditions) takes(p *portion) bool {
	if slices.ContainsFunc(p.met, func(f *filter) bool { return f.user != nil && reflect.DeepEqual(f.user, c) }) {
		return true
	}
	if c.roles != nil || c.hasClusterRoles {
		return false
	}
	users, groups := c.users.Entries(), c.groups.Entries()
	// Everybody has a name and is in a group of these two.
	if slices.ContainsFunc(users, glob.Everything) || slices.ContainsFunc(groups, glob.Everything) {
		return true
	}
	switch {
	case p.user != "":
		return glob.Includes(users, []string{p.user}) || !glob.Match(p.user, user.Anonymous) && c.groups.Match(user.AllAuthenticated)
	case p.group == user.AllUnauthenticated:
		return c.groups.Match(user.AllUnauthenticated) || c.users.Match(user.Anonymous)
	case p.group != "":
		return glob.Includes(groups, []string{p.group}) || !glob.Match(p.group, user.AllUnauthenticated) && c.groups.Match(user.AllAuthenticated)
	}
	return false
}

// EveryKind says how much of everything the block is about, whatever its kind.
func (m *Match) EveryKind(in Space) Coverage {
	in.EveryKind = true
	return (&Match{open: true}).Covered(m, in)
}

func pointers(filters []filter) []*filter {
	list := make([]*filter, len(filters))
	for i := range filters {
		list[i] = &filters[i]
	}
	return list
}
