// Package fieldmask keeps of a JSON object the fields that are named, and drops
// the rest, without decoding it: a mask is applied to thousands of objects for
// one answer.
package fieldmask

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how many names a path has, and maxPaths how many paths there
// are in one mask.
const (
	maxDepth = 64
	maxPaths = 1024
)

// Mask says which fields of an object are kept. A nil Mask keeps everything. It
// is not changed once it is made.
type Mask struct{ root *node }

// node is one name of a path. What is below it is kept if all is set, else the
// children.
type node struct {
	all      bool
	children map[string]*node
}

// Parse makes the mask that keeps what the paths name. A path is names with dots
// between, such as spec.containers.image; it goes through lists as if they were
// not there, and [*] may say so: spec.containers[*].image. A name that has dots itself is written in brackets:
// metadata.labels['app.kubernetes.io/name'].
func Parse(paths []string) (*Mask, error) {
	if len(paths) > maxPaths {
		return nil, fmt.Errorf("there are %d fields; at most %d are accepted", len(paths), maxPaths)
	}
	root := &node{}
	for _, path := range paths {
		names, err := Split(path)
		if err != nil {
			return nil, err
		}
		root.add(names)
	}
	return &Mask{root}, nil
}

// Identity keeps what says which object it is: apiVersion, kind, name, namespace.
func Identity() *Mask {
	root := &node{}
	for _, names := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}} {
		root.add(names)
	}
	return &Mask{root}
}

func (n *node) add(names []string) {
	for _, name := range names {
		if n.all {
			return
		}
		if n.children == nil {
			n.children = map[string]*node{}
		}
		if n.children[name] == nil {
			n.children[name] = &node{}
		}
		n = n.children[name]
	}
	n.all, n.children = true, nil
}

// Split gives the names of a path.
func Split(path string) ([]string, error) {
	wrong := func(why string) ([]string, error) {
		return nil, fmt.Errorf("%q is not the path of a field: %s", path, why)
	}
	if !utf8.ValidString(path) {
		return wrong("it is not valid UTF-8, as names in JSON are")
	}
	var names []string
	rest := path
	for {
		var name string
		if quoted, ok := strings.CutPrefix(rest, "['"); ok {
			if name, rest, ok = strings.Cut(quoted, "']"); !ok {
				return wrong("a bracket is not closed")
			}
		} else {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			name, rest = rest[:end], rest[end:]
		}
		if name == "" {
			return wrong("a name in it is empty")
		}
		if names = append(names, name); len(names) > maxDepth {
			return wrong(fmt.Sprintf("it has more than %d names", maxDepth))
		}
		rest = strings.TrimPrefix(rest, "[*]")
		switch {
		case rest == "":
			return names, nil
		case strings.HasPrefix(rest, "['"):
		case rest[0] == '.':
			rest = rest[1:]
		default:
			return wrong("a dot, [*] or ['name'] belongs after a name")
		}
	}
}

// Allows reports whether the whole of what a path names is kept.
func (m *Mask) Allows(path ...string) bool {
	if m == nil {
		return true
	}
	n := m.root
	for _, name := range path {
		if n.all {
			return true
		}
		if n = n.children[name]; n == nil {
			return false
		}
	}
	return n.all
}

// Intersect keeps what both keep.
func Intersect(a, b *Mask) *Mask {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	root := intersect(a.root, b.root)
	if root == nil {
		root = &node{}
	}
	return &Mask{root}
}

func intersect(a, b *node) *node {
	switch {
	case a.all:
		return b
	case b.all:
		return a
	}
	both := &node{children: map[string]*node{}}
	for name, child := range a.children {
		if other := b.children[name]; other != nil {
			if n := intersect(child, other); n != nil {
				both.children[name] = n
			}
		}
	}
	if len(both.children) == 0 {
		return nil
	}
	return both
}

// Union keeps what either keeps.
func Union(a, b *Mask) *Mask {
	if a == nil || b == nil {
		return nil
	}
	return &Mask{union(a.root, b.root)}
}

func union(a, b *node) *node {
	if a.all || b.all {
		return &node{all: true}
	}
	both := &node{children: maps.Clone(a.children)}
	if both.children == nil {
		both.children = map[string]*node{}
	}
	for name, child := range b.children {
		if other := both.children[name]; other != nil {
			child = union(other, child)
		}
		both.children[name] = child
	}
	return both
}

// Paths are the paths that are kept, sorted; nil for everything.
func (m *Mask) Paths() []string {
	if m == nil {
		return nil
	}
	var paths []string
	m.root.paths("", &paths)
	slices.Sort(paths)
	return paths
}

func (n *node) paths(prefix string, into *[]string) {
	if n.all {
		*into = append(*into, prefix)
		return
	}
	for name, child := range n.children {
		switch {
		case strings.ContainsAny(name, ".["):
			child.paths(prefix+"['"+name+"']", into)
		case prefix == "":
			child.paths(name, into)
		default:
			child.paths(prefix+"."+name, into)
		}
	}
}

// errMalformed is for input that is not JSON, which was checked before as a rule.
var errMalformed = errors.New("an object that a field mask is applied to is not JSON")
