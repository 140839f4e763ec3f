package decision

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ellipsis marks where a text was cut.
const ellipsis = "..."

// Clean makes a text fit to be shown on a terminal and to stand in a header: one
// line, valid UTF-8, without control and formatting characters. What a pod's
// author writes into a field is quoted in what an administrator reads, and must
// not move the cursor there, turn the direction of text or forge a second line.
// A Warning header with such a character is dropped by the API server.
func Clean(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return strings.Map(visible, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
		}
	}
	return s
}

func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
		return ' '
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		return unicode.ReplacementChar
	default:
		return r
	}
}

// cut shortens s to at most limit bytes, at a rune's boundary, and marks it.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if limit <= len(ellipsis) {
		return ellipsis[:max(limit, 0)]
	}
	at := limit - len(ellipsis)
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + ellipsis
}
