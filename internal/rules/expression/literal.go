package expression

import "strings"

// Literals calls visit with the path of each condition that is true or false whatever
// the request is, and with which of them it is.
func (c *Conditions) Literals(visit func(path string, holds bool)) {
	if c == nil {
		return
	}
	for _, e := range c.list {
		if holds, ok := Literal(e.text); ok {
			visit(e.path, holds)
		}
	}
}

// AskNothing reports whether the conditions hold whatever the request is: there are
// none, or each is true.
func (c *Conditions) AskNothing() bool {
	if c == nil {
		return true
	}
	some := len(c.list) > 0
	for _, e := range c.list {
		holds, ok := Literal(e.text)
		some = some && ok && holds
	}
	return some
}

// Literal is the value of an expression that is true or false as it is written, in
// parentheses or not.
func Literal(text string) (value, ok bool) {
	switch text = strings.Trim(text, "() \t\r\n"); text {
	case "true", "!false":
		return true, true
	case "false", "!true":
		return false, true
	}
	return false, false
}
