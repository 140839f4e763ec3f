// Package glob matches names against patterns with * (any run, an empty one
// too) and ? (exactly one character). Nothing else is special: there are no
// classes and no escapes, and case counts.
package glob

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Match reports whether name matches pattern. It takes at most
// len(pattern)*len(name) steps.
func Match(pattern, name string) bool {
	star, mark := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
			continue
		case p < len(pattern) && pattern[p] == '?':
			_, size := utf8.DecodeRuneInString(name[n:])
			p++
			n += size
			continue
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
			continue
		case star < 0:
			return false
		}
		_, size := utf8.DecodeRuneInString(name[mark:])
		mark += size
		p, n = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// IsPattern reports whether s holds a wildcard.
func IsPattern(s string) bool { return strings.ContainsAny(s, "*?") }

// Everything reports whether a pattern matches every name but, it may be, the empty one.
func Everything(pattern string) bool {
	return strings.Trim(pattern, "*?") == "" && strings.Contains(pattern, "*") && strings.Count(pattern, "?") <= 1
}

// List is a list of names and patterns of which one has to match. The zero List
// matches nothing.
type List struct {
	all bool
	// names are in order. There are few in most lists, of which there are thousands: a
	// map would take ten times the memory.
	names    []string
	patterns []string
}

// NewList makes a List of names and patterns.
func NewList(entries []string) List {
	var l List
	for _, entry := range entries {
		switch {
		case strings.Trim(entry, "*") == "" && entry != "":
			l.all = true
		case IsPattern(entry):
			l.patterns = append(l.patterns, entry)
		default:
			l.names = append(l.names, entry)
		}
	}
	slices.Sort(l.names)
	l.names = slices.Clip(slices.Compact(l.names))
	return l
}

// Entries are the names and patterns of the list, those that match everything as one.
func (l *List) Entries() []string {
	entries := slices.Concat(l.names, l.patterns)
	if l.all {
		entries = append(entries, "*")
	}
	return entries
}

// Match reports whether one of the entries matches name.
func (l *List) Match(name string) bool {
	if l.all {
		return true
	}
	if _, ok := slices.BinarySearch(l.names, name); ok {
		return true
	}
	for _, pattern := range l.patterns {
		if Match(pattern, name) {
			return true
		}
	}
	return false
}

// Overlap reports whether there is a name that both patterns match. It takes at most
// len(a)*len(b) steps.
func Overlap(a, b string) bool {
	x, y := []rune(a), []rune(b)
	// reached[j] says whether x up to i and y up to j can be the same name.
	reached := make([]bool, len(y)+1)
	for i := range len(x) + 1 {
		before := false // that of x up to i-1 and y up to j-1
		for j := range len(y) + 1 {
			above, now := reached[j], i == 0 && j == 0
			if i > 0 && above {
				now = now || x[i-1] == '*' || j > 0 && y[j-1] == '*'
			}
			if j > 0 && reached[j-1] {
				now = now || y[j-1] == '*' || i > 0 && x[i-1] == '*'
			}
			if i > 0 && j > 0 && before {
				p, q := x[i-1], y[j-1]
				now = now || p == q || p == '?' || q == '?'
			}
			before, reached[j] = above, now
		}
	}
	return reached[len(y)]
}

// Overlaps reports whether one of the entries and the pattern have a name in common.
func (l *List) Overlaps(pattern string) bool {
	if l.all {
		return true
	}
	for _, name := range l.names {
		if Match(pattern, name) {
			return true
		}
	}
	for _, p := range l.patterns {
		if Overlap(p, pattern) {
			return true
		}
	}
	return false
}

// Includes reports whether whatever matches one of the others matches one of the
// entries too, as far as one entry shows it: it is false where that takes several.
func Includes(entries, others []string) bool {
	return !slices.ContainsFunc(others, func(other string) bool {
		return !slices.ContainsFunc(entries, func(entry string) bool {
			// Of the wildcards in other only a star takes in what they stand for.
			return entry == other || Everything(entry) && other != "" && strings.Trim(other, "*") != "" || Match(entry, other) && (!IsPattern(other) || !strings.Contains(entry, "?"))
		})
	})
}
