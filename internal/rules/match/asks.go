package match

import "github.com/sallyport-io/sallyport/internal/review/request"

// Ask is a kind of request that a block can be about.
type Ask struct {
	// Kind is what it names; nil for every kind, without subresources.
	Kind *Kind
	// Operations are those that it names, or that rules are asked about: of what is
	// deleted rules are not.
	Operations []request.Operation
	// Filter is which filter of the block names it: what another filter names does not
	// make up for what this one does not, as it may be about less.
	Filter int
	// OnlyConverted is set where another entry of the block asks about all that this one
	// is about, and this one only for a version in which it has to be asked.
	OnlyConverted bool
}

// Asks lists what a webhook has to ask about so that no request is missed that the
// block can be about. It may be more than that: what a block says of names,
// namespaces, labels and users is left out.
func (m *Match) Asks() []Ask {
	if m == nil {
		return nil
	}
	if m.open || len(m.filters) == 0 {
		return []Ask{{Operations: asked(0)}}
	}
	if !m.all {
		var asks []Ask
		for i := range m.filters {
			asks = append(asks, m.filters[i].asks(m.filters[i].operations, i)...)
		}
		return asks
	}
	// Each filter has to hold, so that what one of them asks about is enough: one that
	// names kinds. Of the others only those entries count that name a version, in which
	// it has to be asked.
	together, named := operations(0), 0
	for i := range m.filters {
		f := &m.filters[i]
		switch {
		case f.operations == 0:
		case together == 0:
			together = f.operations
		default:
			together &= f.operations
		}
		if len(m.filters[named].kinds) == 0 {
			named = i
		}
	}
	asks := m.filters[named].asks(together, named)
	for i := range m.filters {
		f := &m.filters[i]
		for j := range f.kinds {
			if i != named && f.kinds[j].NamesVersion() {
				asks = append(asks, Ask{Kind: &f.kinds[j], Operations: asked(together), Filter: i, OnlyConverted: true})
			}
		}
	}
	return asks
}

func (f *filter) asks(o operations, at int) []Ask {
	if len(f.kinds) == 0 {
		return []Ask{{Operations: asked(o), Filter: at}}
	}
	asks := make([]Ask, len(f.kinds))
	for i := range f.kinds {
		asks[i] = Ask{Kind: &f.kinds[i], Operations: asked(o), Filter: at}
	}
	return asks
}

// asked are the operations by their names; zero stands for all.
func asked(o operations) []request.Operation {
	if o == 0 {
		o = everyOperation
	}
	var names []request.Operation
	for i, operation := range knownOperations {
		if operation != request.Delete && o&(1<<i) != 0 {
			names = append(names, operation)
		}
	}
	return names
}

// Can reports whether admission asks with an operation about a kind, or about a
// subresource of it. Of those that are not of Kubernetes nothing is known, and every
// operation can be.
func Can(kind, subresource string, operation request.Operation) bool {
	can := operationsOn(kind, subresource)
	return can != 0 && can.match(operation)
}

// AboutAll reports whether the entry names no kind and no group, but all of them.
func (k *Kind) AboutAll() bool { return k == nil || k.kind.any && k.group.any }
