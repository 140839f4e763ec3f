package match

import (
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
)

// everyKind is the entry *.
var everyKind = Kind{group: newPart("*"), version: newPart("*"), kind: newPart("*")}

// portionsOf lists the portions of what filters that all have to hold are about; false
// if there are too many. Where several filters have a list the first is used:
// that may be more than all of them are about, and never less.
func portionsOf(filters []*filter, in *Space) ([]portion, bool) {
	first := func(given func(*filter) bool) *filter {
		if i := slices.IndexFunc(filters, given); i >= 0 {
			return filters[i]
		}
		return &filter{}
	}
	kinds := []*Kind{nil}
	if of := first(func(f *filter) bool { return len(f.kinds) > 0 }); len(of.kinds) > 0 {
		kinds = kinds[:0]
		for i := range of.kinds {
			kinds = append(kinds, &of.kinds[i])
		}
	}
	if in.EveryKind {
		kinds = []*Kind{&everyKind}
	}
	names := orOpen(first(func(f *filter) bool { return f.nameEntries.given() }).nameEntries.values)
	namespaces := orOpen(first(func(f *filter) bool { return f.namespaceEntries.given() }).namespaceEntries.values)
	if in.Namespace != "" {
		namespaces = []string{in.Namespace}
	}
	who := whoAsks(first(func(f *filter) bool { return f.user != nil && f.user.hasSubjects }).user, filters)
	var list []portion
	for _, kind := range kinds {
		operations := operationsFor(filters, kind, in)
		if len(list)+len(operations)*len(names)*len(namespaces)*len(who) > mostPortions {
			return nil, false
		}
		inside, named := in.inside(filters, kind), in.named(kind)
		for _, operation := range operations {
			for _, name := range names {
				for _, namespace := range namespaces {
					for _, one := range who {
						list = append(list, portion{kind: kind, operation: operation, name: name, namespace: namespace, user: one.user, group: one.group, inNamespace: inside, hasName: named, met: filters})
					}
				}
			}
		}
	}
	return list, true
}

// operationsFor are those by which a kind is asked about, one by one. Without a block
// they are not known.
func operationsFor(filters []*filter, kind *Kind, in *Space) []operations {
	if len(filters) == 0 {
		return []operations{0}
	}
	can := everyOperation
	if kind != nil {
		can = kind.served()
	}
	if in.Rule {
		can &^= deletes
	}
	for _, f := range filters {
		if f.operations != 0 {
			can &= f.operations
		}
	}
	var list []operations
	for o := creates; o <= connects; o <<= 1 {
		if can&o != 0 {
			list = append(list, o)
		}
	}
	return list
}

// inside reports whether all of a kind that filters are about is in a namespace. A
// Namespace is in itself.
func (in *Space) inside(filters []*filter, kind *Kind) bool {
	if in.Namespaced || in.Namespace != "" || slices.ContainsFunc(filters, func(f *filter) bool { return f.namespaceEntries.given() || f.namespaceSelector != nil }) {
		return true
	}
	return !in.MayBeInNone && kind != nil && kind.BuiltIn() && (kind.kind.text == "Namespace" || !kind.ClusterScoped())
}

// named reports whether all of a kind has a name: what is answered and not kept needs
// none, and what makes pods has one.
func (in *Space) named(kind *Kind) bool {
	return in.Rule && in.EveryKind || kind != nil && !kind.kind.pattern && !slices.Contains(createdOnly, kind.kind.text)
}

// requester is who asks: a user, or somebody of a group.
type requester struct{ user, group string }

// whoAsks are those whom conditions name; without any everybody, signed in or not.
// Where only roles are asked for, nothing is known of who asks.
func whoAsks(c *userConditions, filters []*filter) []requester {
	var who []requester
	switch {
	case c != nil:
		for _, name := range c.users.Entries() {
			who = append(who, requester{user: name})
		}
		for _, name := range c.groups.Entries() {
			who = append(who, requester{group: name})
		}
	case slices.ContainsFunc(filters, func(f *filter) bool { return f.user != nil }):
		who = append(who, requester{})
	default:
		who = append(who, requester{group: user.AllAuthenticated}, requester{group: user.AllUnauthenticated})
	}
	return who
}
