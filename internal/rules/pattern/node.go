package pattern

// verdict is what a part of a pattern says about a part of a resource. Of the
// verdicts of several fields of a map the greatest counts.
type verdict uint8

const (
	pass verdict = iota
	// skip says that a condition does not hold: the map that it guards is not
	// judged, nor is the list item, or else the whole resource, that the map is in.
	skip
	// skipItems says that a global anchor does not hold in any item of a list, or
	// below another anchor.
	skipItems
	// skipAll says that a global anchor does not hold: the list item that it stands
	// in is not judged, or else the whole resource.
	skipAll
	fail
)

// skips reports whether an anchor that does not hold kept a part from being judged.
func (v verdict) skips() bool { return skip <= v && v <= skipAll }

// node is a compiled part of a pattern.
type node interface {
	// match judges the value that stands where w is. A nil walk takes down
	// nothing.
	match(w *walk, value any) verdict
	// missing judges that nothing stands where w is.
	missing(w *walk) verdict
	// asks says in words what the node wants, such as `must match "?*"`.
	asks() string
}

// presentNode is the pattern "*" of a field: something other than null.
type presentNode struct{}

func (presentNode) match(w *walk, value any) verdict {
	if value == nil {
		return w.fail(nil, presentNode{}.asks())
	}
	return pass
}

func (presentNode) missing(w *walk) verdict { return w.failMissing(presentNode{}.asks()) }

func (presentNode) asks() string { return `must match "*"` }

// matchEach holds every item of a list against the pattern of a scalar, which no
// list within the list can match.
func matchEach(n node, w *walk, items []any) verdict {
	worst := pass
	for i, item := range items {
		w.pushIndex(i)
		worst = max(worst, matchItem(n, w, item))
		w.pop()
	}
	return worst
}

// matchItem holds one item of a list against a pattern. What is asked of a scalar
// goes one list deep.
func matchItem(n node, w *walk, item any) verdict {
	if _, isList := item.([]any); isList {
		if _, ofScalar := n.(*expressionNode); ofScalar {
			return w.fail(item, n.asks())
		}
	}
	return n.match(w, item)
}
