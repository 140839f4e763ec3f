package pattern

import (
	"strconv"
	"time"
)

// scalar is a string, number or bool of a resource, read as far as a pattern
// needs it.
type scalar struct {
	value any
	// number is what a value of a number's type is; isNumber says so.
	number   amount
	isNumber bool
}

// newScalar reads a value. It reports false for null, lists, maps and values that
// no JSON holds.
func newScalar(value any) (scalar, bool) {
	switch value.(type) {
	case string, bool:
		return scalar{value: value}, true
	}
	number, ok := amountOf(value)
	return scalar{value: value, number: number, isNumber: ok}, ok
}

// text is the value as a string.
func (s *scalar) text() string { return scalarText(s.value) }

// amount is the value as a number or quantity, if it is one.
func (s *scalar) amount() (amount, bool) {
	if s.isNumber {
		return s.number, true
	}
	if text, ok := s.value.(string); ok {
		return parseAmount(text)
	}
	return amount{}, false
}

// duration is the value as a duration, if it is one.
func (s *scalar) duration() (time.Duration, bool) {
	if s.isNumber {
		return 0, s.number.isZero()
	}
	if text, ok := s.value.(string); ok {
		return parseDuration(text)
	}
	return 0, false
}

// scalarText writes a string, a bool or a number as a string; "" for all else.
func scalarText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// parseDuration reads a duration such as 1h30m. Unlike time.ParseDuration it
// allocates nothing for what is none.
func parseDuration(text string) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	switch text[0] {
	case '+', '-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
	default:
		return 0, false
	}
	switch text[len(text)-1] {
	case 's', 'm', 'h', '0':
	default:
		return 0, false
	}
	if text[len(text)-1] == '0' && len(text) > 2 {
		// Only a bare 0 needs no unit.
		return 0, false
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}
