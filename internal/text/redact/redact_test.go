package redact

import (
	"errors"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	words := Of([]any{"mysql", "-phunter2", "--execute=SELECT 1", "sh", "Zoë", "Kelvin-Ⱥpart"})
	for name, tt := range map[string]struct{ text, want string }{
		"nothing of it":          {"no way in", "no way in"},
		"a whole word":           {"mysql is not allowed", "(not shown) is not allowed"},
		"part of a word":         {"the password is hunter2", "the password is (not shown)"},
		"another case":           {"MySQL!", "(not shown)!"},
		"several":                {"mysql -phunter2", "(not shown) (not shown)"},
		"a short word":           {"may not run sh", "may not run (not shown)"},
		"a short word in others": {"she washes", "she washes"},
		"with quotes":            {`["sh","-phunter2"]`, `["(not shown)","(not shown)"]`},
		"empty":                  {"", ""},
		"beyond ASCII":           {"for Zoë", "for (not shown)"},
		// The first character is two bytes shorter in lower case, the last two are a
		// byte longer each.
		"lengths that make up for each other": {"\u212a hunter2 ȺȺ", "k (not shown) ⱥⱥ"},
		"bytes that are not text":             {"\xff hunter2", "\ufffd (not shown)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := words.Text(tt.text); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	var none *Words
	if got := none.Text("mysql"); got != "mysql" {
		t.Errorf("no secret: %q", got)
	}
	if err := words.Error(errors.New("strconv: parsing hunter2")); strings.Contains(err.Error(), "hunter2") || errors.Unwrap(err) != nil {
		t.Error(err)
	}
	if err := words.Error(nil); err != nil {
		t.Error(err)
	}
	if got := From(words.Within(t.Context())); got != words {
		t.Error("the context does not carry the words")
	}
	if got := From(none.Within(t.Context())); got != nil {
		t.Error("a context without words has some")
	}
}

// FuzzText makes sure that no word of a secret of four bytes or more is left in a
// text, and that nothing panics.
func FuzzText(f *testing.F) {
	f.Add("tar", "no tar here")
	f.Add("--password=hunter2", "it says HUNTER2")
	f.Add("İstanbul", "in İSTANBUL")
	f.Add("\x99\x99\x00\x00", "\xff")
	f.Add("hunter2ȺȺ", "\u212a")
	f.Fuzz(func(t *testing.T, secret, text string) {
		// A secret comes out of JSON, whose texts are valid UTF-8.
		secret = strings.ToValidUTF8(secret, "\ufffd")
		for piece := range strings.SplitSeq(Of([]any{secret}).Text(text+secret), Shown) {
			if len(secret) >= 4 && strings.Contains(piece, secret) {
				t.Errorf("%q is in %q", secret, piece)
			}
		}
	})
}
