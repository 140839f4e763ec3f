package pattern

import (
	"maps"
	"slices"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// mapNode is a pattern's map. Its fields stand in the order in which they are
// judged: that of their turns.
type mapNode struct {
	fields []fieldNode
	// guards is set in the value of a condition or a global anchor. There a condition
	// below that does not hold is not outdone by what fails in a later turn: that
	// would keep others from being judged.
	guards bool
}

// turn is when a field of a map is judged. What fails in an earlier turn stands; a
// global anchor that does not hold, here or below, keeps later ones from being
// judged.
type turn uint8

const (
	// conditions are judged first: whether the map is judged at all is known then.
	conditions turn = iota
	// anchored are the other anchors but global ones.
	anchored
	// nested are global anchors, and fields with anchors below them.
	nested
	// plain is what has no anchor.
	plain
)

// fieldNode is a key of a pattern's map with its value.
type fieldNode struct {
	name   string
	anchor anchor
	turn   turn
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
	j := judgement{w: w, hadSkipped: w.hasSkipped(), guards: n.guards}
	for i := range n.fields {
		field := &n.fields[i]
		if field.turn > anchored && j.settle() {
			return j.skipped
		}
		if j.add(field.turn, field.match(w, m)) {
			return j.skipped
		}
	}
	if j.settle() {
		return j.skipped
	}
	return j.worst
}

// judgement brings the verdicts on a map's fields together, turn by turn.
type judgement struct {
	w          *walk
	hadSkipped bool
	guards     bool
	// worst is the verdict so far.
	worst verdict
	// applied is set once an anchor other than a global one applies and holds.
	applied bool
	// pending is how what stands below anchors of the map was skipped, which counts
	// only if none of the others applies.
	pending verdict
	// skipped is the verdict where the map is skipped.
	skipped verdict
}

// add takes the verdict on a field, and reports whether the map is skipped.
func (j *judgement) add(at turn, v verdict) bool {
	switch {
	case at == conditions && v.skips():
		return j.skip(min(v, skipItems))
	case at == anchored && v == skipAll && j.worst != fail:
		return j.skip(skipItems)
	case at == anchored && v.skips():
		j.pending = max(j.pending, v)
		return false
	case at == nested && v.skips() && (v > skip || j.guards) && j.worst == pass:
		return j.skip(v)
	case at == nested && v > skip && v.skips() && j.worst == skip:
		return j.skip(skipItems)
	}
	j.applied = j.applied || at <= anchored && v == pass
	j.worst = max(j.worst, v)
	return false
}

// settle decides what is pending, and reports whether the map is skipped.
func (j *judgement) settle() bool {
	pending := j.pending
	j.pending = pass
	switch {
	case pending == pass:
	case j.applied:
		j.w.forget(j.hadSkipped)
	case (pending > skip || j.guards) && j.worst != fail:
		return j.skip(min(pending, skipItems))
	default:
		j.worst = max(j.worst, skip)
	}
	return false
}

func (j *judgement) skip(v verdict) bool {
	j.skipped = v
	return true
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
	var verdicts wildVerdicts
	judge := func(key string, value any) {
		if !glob.Match(f.name, key) {
			return
		}
		w.pushKey(key)
		verdicts.add(f.matchValue(w, value))
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
	if !verdicts.any {
		w.pushKey(f.name)
		defer w.pop()
		return f.matchMissing(w)
	}
	return verdicts.whole(f.anchor)
}

// wildVerdicts brings the verdicts on the keys that a pattern of keys matches
// together.
type wildVerdicts struct {
	any         bool
	best, worst verdict
}

func (v *wildVerdicts) add(one verdict) {
	if !v.any || one < v.best {
		v.best = one
	}
	v.any, v.worst = true, max(v.worst, one)
}

// whole is the verdict on all of them: every key has to match, except for an anchor
// that decides whether others are judged, for which one that matches is enough.
func (v *wildVerdicts) whole(kind anchor) verdict {
	if kind == condition || kind == global {
		return v.best
	}
	return v.worst
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
