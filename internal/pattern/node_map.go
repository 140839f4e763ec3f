package pattern

import (
	"maps"
	"slices"

	"github.com/sallyport-io/sallyport/internal/glob"
)

// mapNode is a pattern's map. Its fields are global anchors, then conditions,
// then all the others: whether the map is judged at all is known first.
type mapNode struct{ fields []fieldNode }

// fieldNode is a key of a pattern's map with its value.
type fieldNode struct {
	name   string
	anchor anchor
	// wild says that name is a pattern of keys.
	wild bool
	// value is nil for the negation anchor, which asks nothing of it.
	value node
}

func (n *mapNode) match(w *walk, value any) verdict {
	m, ok := value.(map[string]any)
	if !ok {
		return w.fail(value, n.asks())
	}
	worst := pass
	for i := range n.fields {
		field := &n.fields[i]
		found := field.match(w, m)
		if found == skipAll || found == skip && field.anchor == condition {
			return found
		}
		worst = max(worst, found)
	}
	return worst
}

func (n *mapNode) missing(w *walk) verdict { return w.failMissing(n.asks()) }

func (*mapNode) asks() string { return "must be a map" }

// match judges the field, or the fields, of m that the key names.
func (f *fieldNode) match(w *walk, m map[string]any) verdict {
	if !f.wild {
		value, ok := m[f.name]
		w.pushKey(f.name)
		defer w.pop()
		if !ok {
			return f.matchMissing(w)
		}
		return f.matchValue(w, value)
	}
	worst, found := pass, false
	judge := func(key string, value any) {
		if worst == skipAll || !glob.Match(f.name, key) {
			return
		}
		found = true
		w.pushKey(key)
		worst = max(worst, f.matchValue(w, value))
		w.pop()
	}
	if w == nil {
		for key, value := range m {
			judge(key, value)
		}
	} else {
		// What is taken down must not depend on the order of a map.
		for _, key := range slices.Sorted(maps.Keys(m)) {
			judge(key, m[key])
		}
	}
	if !found {
		w.pushKey(f.name)
		worst = f.matchMissing(w)
		w.pop()
	}
	return worst
}

// matchMissing judges that the resource has no such key.
func (f *fieldNode) matchMissing(w *walk) verdict {
	switch f.anchor {
	case none:
		return f.value.missing(w)
	case condition:
		w.skip()
		return skip
	default:
		return pass
	}
}

// matchValue judges the value of a key that the resource has.
func (f *fieldNode) matchValue(w *walk, value any) verdict {
	switch f.anchor {
	case negation:
		return w.fail(value, "must not be there")
	case condition:
		return f.guard(w, value, skip)
	case global:
		return f.guard(w, value, skipAll)
	default:
		return f.value.match(w, value)
	}
}

// guard judges the value of an anchor that decides whether others are judged. It
// returns unmet unless the value matches.
func (f *fieldNode) guard(w *walk, value any, unmet verdict) verdict {
	had := w.hasSkipped()
	w.mute()
	found := f.value.match(w, value)
	w.unmute()
	if found == pass || found == skipAll {
		return found
	}
	// A global anchor counts before any condition that did not hold elsewhere.
	w.forget(had && unmet == skip)
	w.skip()
	return unmet
}
