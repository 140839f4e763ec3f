package pattern

// listNode is a pattern's list: every element applies to every item.
type listNode struct{ elements []node }

func (n *listNode) match(w *walk, value any) verdict {
	items, ok := value.([]any)
	if !ok {
		return w.fail(value, n.asks())
	}
	verdicts := newTally(w)
	for i, item := range items {
		w.pushIndex(i)
		for _, element := range n.elements {
			verdicts.add(matchItem(element, w, item))
		}
		w.pop()
	}
	return verdicts.whole()
}

func (n *listNode) missing(w *walk) verdict { return w.failMissing(n.asks()) }

func (*listNode) asks() string { return "must be a list" }

// indexedNode is a list that stands in a pattern's list: each element applies to
// the item with its index.
type indexedNode struct{ elements []node }

func (n *indexedNode) match(w *walk, value any) verdict {
	items, ok := value.([]any)
	if !ok {
		return w.fail(value, n.asks())
	}
	verdicts := newTally(w)
	for i, element := range n.elements {
		w.pushIndex(i)
		found := fail
		if i < len(items) {
			found = element.match(w, items[i])
		} else if w != nil {
			// What stands here asks for an item, whatever it asks of it: without it the
			// rest would move up.
			w.failMissing(element.asks())
		}
		verdicts.add(found)
		w.pop()
	}
	return verdicts.whole()
}

func (n *indexedNode) missing(w *walk) verdict { return w.failMissing(n.asks()) }

func (*indexedNode) asks() string { return "must be a list" }

// tally brings the verdicts on a list's items together: an item that is skipped
// takes no other with it, and the list is skipped only if all of them are.
type tally struct {
	w          *walk
	hadSkipped bool
	judged     bool
	// skipped is how the items were skipped that were; pass if none was.
	skipped verdict
	worst   verdict
}

func newTally(w *walk) tally { return tally{w: w, hadSkipped: w.hasSkipped()} }

// add takes the verdict on one item.
func (t *tally) add(v verdict) {
	if v.skips() {
		t.skipped = max(t.skipped, v)
		return
	}
	t.judged = true
	t.worst = max(t.worst, v)
}

func (t *tally) whole() verdict {
	if !t.judged && t.skipped != pass {
		return min(t.skipped, skipItems)
	}
	t.w.forget(t.hadSkipped)
	return t.worst
}

// existsNode is the value of an existence anchor: each of its maps has to match
// at least one item.
type existsNode struct {
	elements []node
	// texts are the elements as they were written, in JSON.
	texts []string
}

func (n *existsNode) match(w *walk, value any) verdict {
	items, ok := value.([]any)
	if !ok {
		return w.fail(value, n.asks())
	}
	worst := pass
	for i, element := range n.elements {
		worst = max(worst, n.matchOne(w, i, element, items))
	}
	return worst
}

// matchOne judges one element. An item that it skips is not one that matches.
func (n *existsNode) matchOne(w *walk, i int, element node, items []any) verdict {
	had, found := w.hasSkipped(), false
	for at := 0; at < len(items) && !found; at++ {
		w.pushIndex(at)
		w.mute()
		found = element.match(w, items[at]) == pass
		w.unmute()
		w.pop()
	}
	w.forget(had)
	if found {
		return pass
	}
	if w == nil {
		return fail
	}
	return w.fail(items, "must hold an item that matches "+n.texts[i])
}

func (n *existsNode) missing(*walk) verdict { return pass }

func (*existsNode) asks() string { return "must be a list" }
