package match

import (
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Key is a resource that a block can be about. An empty field stands for every
// one. Kind is that of the resource, also where a subresource of it is named. The
// Namespace of a Namespace is its own name, and the Name of what has none yet is
// its generateName: Target.Key returns them in the same way.
type Key struct {
	Kind, Namespace, Name string
	// Prefix is set where Name is what the name begins with.
	Prefix bool
	// Label is one that the resource has to have; Target.Key leaves it empty, since
	// a resource has many.
	Label Label
}

// Label is the key and the value of a label.
type Label struct{ Key, Value string }

// maxKeys is how many keys a block has at most in an index.
const maxKeys = 64

// Keys lists the resources that the block can be about, for an index; nothing
// that the block matches is outside them. A block with more than 64 has one key
// that stands for everything.
func (m *Match) Keys() []Key {
	if m == nil {
		return nil
	}
	open := []Key{{}}
	if m.open {
		return open
	}
	var keys []Key
	add := func(d dimensions) bool {
		for _, kind := range d.kinds {
			for _, namespace := range d.namespaces {
				for _, name := range d.names {
					for _, label := range d.labels {
						key := Key{Kind: kind, Namespace: namespace, Name: name.text, Prefix: name.prefix, Label: label}
						if slices.Contains(keys, key) {
							continue
						}
						if len(keys) == maxKeys {
							return false
						}
						keys = append(keys, key)
					}
				}
			}
		}
		return true
	}
	if m.all {
		// What one of the filters says holds for the whole block.
		var d dimensions
		for i := range m.filters {
			other := m.filters[i].dimensions()
			d = dimensions{tighter(d.kinds, other.kinds), tighter(d.namespaces, other.namespaces), tighter(d.names, other.names), tighter(d.labels, other.labels)}
		}
		if !add(d) {
			return open
		}
		return keys
	}
	for i := range m.filters {
		if !add(m.filters[i].dimensions()) {
			return open
		}
	}
	return keys
}

// dimensions are what a filter limits a resource to; a field with one empty name
// is open.
type dimensions struct {
	kinds, namespaces []string
	names             []beginning
	labels            []Label
}

// beginning is a name, or what names begin with.
type beginning struct {
	text   string
	prefix bool
}

// minPrefix is how long a prefix is at least that is worth looking up.
const minPrefix = 2

// beginnings returns names, and of patterns what names begin with; nil if one of
// them leaves that open.
func beginnings(values []string) []beginning {
	list := make([]beginning, len(values))
	for i, value := range values {
		list[i].text = value
		if at := strings.IndexAny(value, "*?"); at >= 0 {
			if at < minPrefix {
				return nil
			}
			list[i] = beginning{value[:at], true}
		}
	}
	return list
}

func (f *filter) dimensions() dimensions {
	return dimensions{
		kinds:      orOpen(f.exactKinds()),
		namespaces: orOpen(exact(f.namespaceEntries.values)),
		names:      orOpen(beginnings(f.nameEntries.values)),
		labels:     orOpen(f.selector.required()),
	}
}

// exact returns the entries, or nil if one of them is a pattern.
func exact(values []string) []string {
	if slices.ContainsFunc(values, glob.IsPattern) {
		return nil
	}
	return values
}

func orOpen[T any](values []T) []T {
	if len(values) == 0 {
		return make([]T, 1)
	}
	return values
}

// tighter returns the shorter list of the two that is not open.
func tighter[T comparable](a, b []T) []T {
	var nothing T
	isOpen := func(list []T) bool { return len(list) == 0 || list[0] == nothing }
	if isOpen(a) || !isOpen(b) && len(b) < len(a) {
		return b
	}
	return a
}
