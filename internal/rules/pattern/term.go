package pattern

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// operator is what a term asks of a value.
type operator uint8

const (
	equal operator = iota
	notEqual
	greater
	greaterOrEqual
	less
	lessOrEqual
	// within and outside take two operands, and both bounds belong to the range.
	within
	outside
)

// term is an operator with its operand, or a range with its bounds.
type term struct {
	operator operator
	low      operand
	// high is the upper bound of a range.
	high operand
}

// operand is what values are compared with. One such as 5m is a quantity and a
// duration; which of them counts depends on the value.
type operand struct {
	text       string
	wild       bool
	number     amount
	isAmount   bool
	duration   time.Duration
	isDuration bool
}

func newOperand(text string) operand {
	o := operand{text: text, wild: glob.IsPattern(text)}
	o.number, o.isAmount = parseAmount(text)
	o.duration, o.isDuration = parseDuration(text)
	return o
}

// isOrdered reports whether a value can be less or more than the operand.
func (o *operand) isOrdered() bool { return o.isAmount || o.isDuration }

// compare returns how a value compares with the operand: as durations if both
// are, else as quantities. It reports false if they compare as neither.
func (o *operand) compare(s *scalar) (int, bool) {
	if o.isDuration {
		if d, ok := s.duration(); ok {
			return cmp.Compare(d, o.duration), true
		}
	}
	if o.isAmount {
		if number, ok := s.amount(); ok {
			return number.compare(&o.number), true
		}
	}
	return 0, false
}

// equals reports whether a value is the operand, or matches its wildcards.
func (o *operand) equals(s *scalar) bool {
	if order, ok := o.compare(s); ok {
		return order == 0
	}
	if o.wild {
		return glob.Match(o.text, s.text())
	}
	return o.text == s.text()
}

// holds reports whether a value is as the term asks.
func (t *term) holds(s *scalar) bool {
	switch t.operator {
	case equal:
		return t.low.equals(s)
	case notEqual:
		return !t.low.equals(s)
	case within, outside:
		return t.inRange(s)
	}
	order, ok := t.low.compare(s)
	if !ok {
		return false
	}
	switch t.operator {
	case greater:
		return order > 0
	case greaterOrEqual:
		return order >= 0
	case less:
		return order < 0
	case lessOrEqual:
		return order <= 0
	}
	return false
}

// inRange compares a value with both bounds in the same way: as durations if all
// three are, else as quantities.
func (t *term) inRange(s *scalar) bool {
	low, high := t.low, t.high
	if d, ok := s.duration(); ok && low.isDuration && high.isDuration {
		inside := low.duration <= d && d <= high.duration
		return inside == (t.operator == within)
	}
	number, ok := s.amount()
	if !ok || !low.isAmount || !high.isAmount {
		return false
	}
	inside := low.number.compare(&number) <= 0 && number.compare(&high.number) <= 0
	return inside == (t.operator == within)
}

// signs are the operators that stand before their operand; the longer ones come
// before those that they begin with.
var signs = []struct {
	sign     string
	operator operator
}{
	{">=", greaterOrEqual}, {"<=", lessOrEqual}, {">", greater}, {"<", less}, {"!", notEqual},
}

const operandForms = "a number, a quantity such as 10Mi or a duration such as 1h30m"

// parseTerm compiles one term. The error says what is wrong with it.
func parseTerm(text string) (term, error) {
	if text == "" {
		return term{}, errors.New(`nothing stands beside | or &, or the whole is blank; write what has to match, or "" for the empty string`)
	}
	for _, s := range signs {
		rest, ok := strings.CutPrefix(text, s.sign)
		if !ok {
			continue
		}
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return term{}, fmt.Errorf("nothing stands after the operator %s; write what it compares with", s.sign)
		}
		if s.operator == notEqual {
			return parseNegation(text, rest)
		}
		t := term{operator: s.operator, low: newOperand(rest)}
		if !t.low.isOrdered() {
			return term{}, fmt.Errorf("%q cannot be compared by %s; it takes %s", rest, s.sign, operandForms)
		}
		return t, nil
	}
	if strings.HasPrefix(text, "=") {
		return term{}, fmt.Errorf("%q begins with an operator that there is not; for a value that is equal, write only the value", text)
	}
	return parseOperand(text)
}

// parseNegation compiles what stands after !.
func parseNegation(text, rest string) (term, error) {
	if strings.ContainsAny(rest[:1], "!<>=") {
		return term{}, fmt.Errorf("%q has one operator before another; ! takes a value, and >, <, >= and <= have each other as opposites", text)
	}
	t, err := parseOperand(rest)
	switch {
	case err != nil:
		return term{}, err
	case t.operator != equal:
		return term{}, fmt.Errorf("%q negates a range; what lies outside of a range is written %s!-%s", text, t.low.text, t.high.text)
	}
	t.operator = notEqual
	return t, nil
}

// parseOperand compiles a term without an operator before it: a range or a value.
func parseOperand(text string) (term, error) {
	if low, high, ok := strings.Cut(text, "!-"); ok {
		t := newRange(outside, low, high)
		switch {
		case t.isRange():
			return t, t.checkOrder(text)
		case t.low.isOrdered() || t.high.isOrdered():
			return term{}, fmt.Errorf("%q is not a range; the bounds on both sides of !- are quantities or durations", text)
		}
	}
	whole := newOperand(text)
	if whole.isOrdered() {
		return term{operator: equal, low: whole}, nil
	}
	for i := 1; i < len(text); i++ {
		if text[i] != '-' {
			continue
		}
		if t := newRange(within, text[:i], text[i+1:]); t.isRange() {
			return t, t.checkOrder(text)
		}
	}
	return term{operator: equal, low: whole}, nil
}

func newRange(kind operator, low, high string) term {
	return term{operator: kind, low: newOperand(strings.TrimSpace(low)), high: newOperand(strings.TrimSpace(high))}
}

// isRange reports whether the bounds can be compared with each other.
func (t *term) isRange() bool {
	return t.low.isAmount && t.high.isAmount || t.low.isDuration && t.high.isDuration
}

// checkOrder refuses a range that holds nothing.
func (t *term) checkOrder(text string) error {
	upsideDown := t.low.isAmount && t.high.isAmount && t.low.number.compare(&t.high.number) > 0
	if t.low.isDuration && t.high.isDuration {
		upsideDown = t.low.duration > t.high.duration
	}
	if upsideDown {
		return fmt.Errorf("%q is a range whose lower bound is above the upper one; write the lower one first", text)
	}
	return nil
}
