package exception

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// key is what an exception is about, each part empty where it is open.
type key struct {
	policy, rule, kind, namespace, name string
	// prefix is set where name is what names begin with.
	prefix bool
	label  match.Label
}

// shape says which parts of a key are given, a bit each.
type shape uint8

const (
	hasPolicy shape = 1 << iota
	hasRule
	hasKind
	hasNamespace
	hasName
	hasLabel
	hasPrefix
)

func (k *key) shape() shape {
	var s shape
	for i, part := range [...]string{k.policy, k.rule, k.kind, k.namespace, k.name} {
		if part != "" {
			s |= 1 << i
		}
	}
	if k.label.Key != "" {
		s |= hasLabel
	}
	if k.prefix {
		s |= hasPrefix
	}
	return s
}

var seed = maphash.MakeSeed()

// hash is a number for the key: comparing and hashing one number is quicker than
// all the texts of a key, in an index that lies in no cache.
func (k *key) hash() uint64 {
	h := uint64(k.shape())
	for _, part := range [...]string{k.policy, k.rule, k.kind, k.namespace, k.name, k.label.Key, k.label.Value} {
		h *= 0x9E3779B97F4A7C15
		if part != "" {
			h ^= maphash.String(seed, part)
		}
		h = bits.RotateLeft64(h, 29)
	}
	return h
}

// place is a key as an index has it.
type place struct {
	hash  uint64
	shape shape
	// prefix is the length of a name that is a prefix, and hashOpen and shapeOpen are
	// those of the key without it, for where prefixes of that length are not looked up.
	prefix    int
	hashOpen  uint64
	shapeOpen shape
}

// placesOf are those of a pass.
func placesOf(p *Exception) []place {
	keys := keysOf(p)
	places := make([]place, len(keys))
	for i, k := range keys {
		// Every name begins with nothing.
		k.prefix = k.prefix && k.name != ""
		places[i] = place{hash: k.hash(), shape: k.shape()}
		if k.prefix {
			places[i].prefix = len(k.name)
			k.name, k.prefix = "", false
			places[i].hashOpen, places[i].shapeOpen = k.hash(), k.shape()
		}
	}
	return places
}

// index finds the passes that can be about a rule and a resource. Only the
// shapes that some key has are looked up, so that a look-up costs the same
// however many exceptions there are about something else.
type index struct {
	passes []*Exception
	// byKey has the positions of passes under the hashes of their keys, in order. Two
	// keys with one hash share a list: each pass is asked anyway.
	byKey  map[uint64][]int32
	shapes []shape
	// lengths are those of the prefixes of names.
	lengths []int
}

// maxLengths bounds how many lengths of prefixes are looked up. Names of objects
// are seldom longer.
const maxLengths = 64

// maxKeys bounds how many keys one pass stands under.
const maxKeys = 64

func newIndex(passes []*Exception) index {
	x := index{passes: passes, byKey: make(map[uint64][]int32, len(passes))}
	for i, p := range passes {
		for _, at := range p.places {
			if at.prefix > 0 && !x.knows(at.prefix) {
				at.hash, at.shape = at.hashOpen, at.shapeOpen
			}
			x.byKey[at.hash] = append(x.byKey[at.hash], int32(i))
			if !slices.Contains(x.shapes, at.shape) {
				x.shapes = append(x.shapes, at.shape)
			}
		}
	}
	return x
}

// knows reports whether prefixes of a length are looked up.
func (x *index) knows(length int) bool {
	if slices.Contains(x.lengths, length) {
		return true
	}
	if len(x.lengths) == maxLengths {
		return false
	}
	x.lengths = append(x.lengths, length)
	return true
}

// keysOf combines the rules and the resources that a pass names.
func keysOf(p *Exception) []key {
	var rules []key
	for i := range p.rules {
		r := &p.rules[i]
		k := key{}
		if !glob.IsPattern(r.policy) {
			k.policy = r.policy
		}
		if len(r.exact) == 0 {
			rules = append(rules, k)
		}
		for _, name := range r.exact {
			k.rule = name
			rules = append(rules, k)
		}
	}
	resources := p.match.Keys()
	if len(rules)*len(resources) > maxKeys {
		return []key{{}}
	}
	keys := make([]key, 0, len(rules)*len(resources))
	for _, k := range rules {
		for _, r := range resources {
			k.kind, k.namespace, k.name, k.prefix, k.label = r.Kind, r.Namespace, r.Name, r.Prefix, r.Label
			if p.bound {
				k.namespace = p.namespace
			}
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// about returns the positions of the passes that can be about the query, in order.
// They still have to be asked.
func (x *index) about(q *Query) []int32 {
	var found []int32
	lists := 0
	take := func(k key) {
		if list := x.byKey[k.hash()]; len(list) > 0 {
			// The first list is the index's own and is not written to; the second is
			// joined to a copy of it.
			if lists++; lists == 1 {
				found = list
				return
			}
			found = append(found[:len(found):len(found)], list...)
		}
	}
	look := func(k key, s shape) {
		if s&hasRule == 0 {
			take(k)
			return
		}
		k.rule = q.Rule
		take(k)
		if q.BaseRule != "" && q.BaseRule != q.Rule {
			k.rule = q.BaseRule
			take(k)
		}
	}
	byLabel := func(k key, s shape, t *match.Target) {
		if s&hasLabel == 0 {
			look(k, s)
			return
		}
		for label, value := range t.Labels {
			k.label = match.Label{Key: label, Value: value}
			look(k, s)
		}
	}
	for _, t := range q.Targets {
		about := t.Key()
		for _, s := range x.shapes {
			k := key{}
			if s&hasPolicy != 0 {
				k.policy = q.Policy
			}
			if s&hasKind != 0 {
				k.kind = about.Kind
			}
			if s&hasNamespace != 0 {
				k.namespace = about.Namespace
			}
			if s&hasName != 0 {
				k.name = about.Name
			}
			if s&hasPrefix == 0 {
				byLabel(k, s, t)
				continue
			}
			k.prefix = true
			for _, length := range x.lengths {
				if length <= len(about.Name) {
					k.name = about.Name[:length]
					byLabel(k, s, t)
				}
			}
		}
	}
	if lists > 1 {
		slices.Sort(found)
		found = slices.Compact(found)
	}
	return found
}
