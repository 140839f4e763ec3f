package pattern

import (
	"slices"
	"strconv"
	"strings"
)

// expressionNode is the pattern of a scalar: alternatives, of each of which all
// terms have to hold.
type expressionNode struct {
	// exact is the pattern as it was written in a string. A string that equals it
	// matches, whatever its signs mean.
	exact string
	// written is how messages quote it.
	written      string
	alternatives [][]term
	// zeroIfMissing is set in what decides whether others are judged: there, as in
	// the engine that the language comes from, nothing counts as 0 beside a number.
	// Read otherwise, it would keep them from being judged.
	zeroIfMissing bool
}

// parseExpression compiles a string of a pattern. The error says what is wrong
// with it.
func parseExpression(text string) (*expressionNode, error) {
	n := &expressionNode{exact: text, written: "match " + strconv.Quote(text)}
	if text == "" {
		n.alternatives = [][]term{{{operator: equal}}}
		return n, nil
	}
	for alternative := range strings.SplitSeq(text, "|") {
		var terms []term
		for written := range strings.SplitSeq(alternative, "&") {
			t, err := parseTerm(strings.TrimSpace(written))
			if err != nil {
				return nil, err
			}
			terms = append(terms, t)
		}
		n.alternatives = append(n.alternatives, terms)
	}
	return n, nil
}

// newLiteral is the pattern true or false.
func newLiteral(text string) node {
	return &expressionNode{exact: text, written: "be " + text, alternatives: [][]term{{{operator: equal, low: operand{text: text}}}}}
}

// newNumber is a pattern that is a number.
func newNumber(text string, number amount) node {
	value := newOperand(text)
	value.number, value.isAmount = number, true
	return &expressionNode{exact: text, written: "be " + text, alternatives: [][]term{{{operator: equal, low: value}}}}
}

func (n *expressionNode) match(w *walk, value any) verdict {
	if items, ok := value.([]any); ok {
		return matchEach(n, w, items)
	}
	if s, ok := newScalar(value); ok && n.holds(&s) || value == nil && n.holdsForNothing() {
		return pass
	}
	if w == nil {
		return fail
	}
	return w.fail(value, n.asks())
}

func (n *expressionNode) missing(w *walk) verdict {
	if n.holdsForNothing() {
		return pass
	}
	if w == nil {
		return fail
	}
	return w.failMissing(n.asks())
}

func (n *expressionNode) asks() string { return "must " + n.written }

func (n *expressionNode) holds(s *scalar) bool {
	if text, ok := s.value.(string); ok && text == n.exact {
		return true
	}
	for _, terms := range n.alternatives {
		if allHold(terms, s) {
			return true
		}
	}
	return false
}

// nothing is what a missing value counts as beside a number.
var nothing = scalar{value: int64(0), isNumber: true}

// holdsForNothing reports whether the pattern holds for a missing value.
func (n *expressionNode) holdsForNothing() bool {
	return n.zeroIfMissing && slices.ContainsFunc(n.alternatives, func(terms []term) bool {
		return allHold(terms, &nothing) && !slices.ContainsFunc(terms, func(t term) bool { return !t.low.isOrdered() })
	})
}

func allHold(terms []term, s *scalar) bool {
	for i := range terms {
		if !terms[i].holds(s) {
			return false
		}
	}
	return true
}
