package wasm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clip cuts s to at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// tidy makes one printable line of at most n bytes out of s, which a module may
// have chosen freely.
func tidy(s string, n int) string {
	if len(s) > n {
		s = clip(s, n) + "..."
	}
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}
