package condition

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestMessages are cut only where they have to be, and between characters.
func TestMessages(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", LongestMessage)} {
		if got := Message(text); got != text {
			t.Errorf("%d bytes are cut to %d", len(text), len(got))
		}
	}
	for _, text := range []string{strings.Repeat("x", LongestMessage+1), "x" + strings.Repeat("\u00e4", LongestMessage)} {
		if got := Message(text); len(got) > LongestMessage || len(got) < LongestMessage-4 || !strings.HasSuffix(got, "...") || !utf8.ValidString(got) {
			t.Errorf("%d bytes are cut to %d: %q", len(text), len(got), got[len(got)-8:])
		}
	}
}
