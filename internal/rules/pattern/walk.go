package pattern

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// walk takes down what a comparison finds, and where. All its methods may be
// called on a nil walk, which takes down nothing.
type walk struct {
	path     []step
	failures []located
	// skipped is where the first anchor that counts does not hold.
	skipped []step
	// muted is above zero while an anchor's value is judged: that it does not match
	// is not a failure.
	muted int
}

// step is a part of a path: a key, or an index if key is not set.
type step struct {
	key   string
	index int
	isKey bool
}

// located is a failure with its path in a form that can be ordered.
type located struct {
	path    []step
	failure Failure
}

func (w *walk) pushKey(key string) {
	if w != nil {
		w.path = append(w.path, step{key: key, isKey: true})
	}
}

func (w *walk) pushIndex(index int) {
	if w != nil {
		w.path = append(w.path, step{index: index})
	}
}

func (w *walk) pop() {
	if w != nil {
		w.path = w.path[:len(w.path)-1]
	}
}

// fail takes down that value is not what the pattern asks. It returns fail.
func (w *walk) fail(value any, asks string) verdict {
	return w.add(Failure{Value: value, Detail: asks})
}

// failMissing takes down that nothing stands here. It returns fail.
func (w *walk) failMissing(asks string) verdict {
	return w.add(Failure{Missing: true, Detail: "is missing, " + asks})
}

func (w *walk) add(failure Failure) verdict {
	if w == nil || w.muted > 0 {
		return fail
	}
	failure.Path = pathOf(w.path)
	w.failures = append(w.failures, located{path: slices.Clone(w.path), failure: failure})
	return fail
}

// mute begins to judge the value of an anchor; unmute ends it.
func (w *walk) mute() {
	if w != nil {
		w.muted++
	}
}

func (w *walk) unmute() {
	if w != nil {
		w.muted--
	}
}

// skip takes down that the anchor of the field that w is at does not hold,
// unless an earlier one counts.
func (w *walk) skip() {
	if w != nil && len(w.skipped) == 0 {
		w.skipped = slices.Clone(w.path)
	}
}

// hasSkipped and forget serve whoever finds that the anchors that did not hold
// since then were of no consequence.
func (w *walk) hasSkipped() bool { return w != nil && len(w.skipped) > 0 }

func (w *walk) forget(hadSkipped bool) {
	if w != nil && !hadSkipped {
		w.skipped = nil
	}
}

// inOrder returns the failures in the order of the resource's fields: keys by
// name, items by index.
func (w *walk) inOrder() []Failure {
	slices.SortStableFunc(w.failures, func(a, b located) int {
		return slices.CompareFunc(a.path, b.path, func(a, b step) int {
			return cmp.Or(cmp.Compare(a.index, b.index), strings.Compare(a.key, b.key))
		})
	})
	failures := make([]Failure, len(w.failures))
	for i, found := range w.failures {
		failures[i] = found.failure
	}
	return failures
}

// pathOf writes a path down: spec.containers[0].image. Keys that would not read
// as one part of it stand in brackets.
func pathOf(path []step) string {
	var b strings.Builder
	for i, s := range path {
		switch {
		case !s.isKey:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
		case needsBrackets(s.key):
			b.WriteByte('[')
			b.WriteString(s.key)
			b.WriteByte(']')
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.key)
		}
	}
	return b.String()
}

func needsBrackets(key string) bool { return key == "" || strings.ContainsAny(key, "./[] ") }
