// Package redact takes out of texts what stands in a secret. It is for what others
// say of one, policies among them, who may quote it whole or in parts.
package redact

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown stands in place of what was taken out.
const Shown = "(not shown)"

// window is the length from which a part of a secret counts, in bytes: shorter ones
// stand in any text by chance, and are taken out as whole words only.
const window = 4

// Words are the words of a secret. A nil Words takes nothing out.
type Words struct {
	// parts are all parts of length window, short the words that have none.
	parts, short map[string]bool
}

// Of are the words of a JSON tree: every text in it, names of fields included.
func Of(tree any) *Words {
	w := &Words{parts: map[string]bool{}, short: map[string]bool{}}
	w.add(tree)
	return w
}

func (w *Words) add(tree any) {
	switch v := tree.(type) {
	case string:
		w.word(v)
	case []any:
		for i := range v {
			w.add(v[i])
		}
	case map[string]any:
		for name := range v {
			w.word(name)
			w.add(v[name])
		}
	}
}

func (w *Words) word(text string) {
	text = strings.ToLower(text)
	for i := 0; i+window <= len(text); i++ {
		w.parts[text[i:i+window]] = true
	}
	for piece := range strings.FieldsFuncSeq(text, separates) {
		if len(piece) < window {
			w.short[piece] = true
		}
	}
}

// separates reports whether a character stands between words.
func separates(r rune) bool {
	return r < utf8.RuneSelf && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_')
}

// Text is a text without anything that stands in the secret too: any four bytes in
// a row, in upper or lower case, and shorter words where they stand alone.
func (w *Words) Text(text string) string {
	if w == nil || text == "" {
		return text
	}
	lower := strings.ToLower(text)
	if !keepsPositions(text) {
		text = lower
	}
	hide := make([]bool, len(text))
	found := false
	mark := func(from, to int) {
		for i := from; i < to; i++ {
			hide[i] = true
		}
		found = true
	}
	for i := 0; i+window <= len(lower); i++ {
		if w.parts[lower[i:i+window]] {
			mark(i, i+window)
		}
	}
	start := -1
	for i := 0; i <= len(lower); i++ {
		inside := i < len(lower) && !separates(rune(lower[i]))
		switch {
		case inside && start < 0:
			start = i
		case !inside && start >= 0:
			if w.short[lower[start:i]] {
				mark(start, i)
			}
			start = -1
		}
	}
	if !found {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case !hide[i]:
			b.WriteByte(text[i])
		case i == 0 || !hide[i-1]:
			b.WriteString(Shown)
		}
	}
	return strings.ToValidUTF8(b.String(), "")
}

// keepsPositions reports whether each character of a text is as long in lower case,
// so that a position in the one is the same in the other. To compare the lengths of
// the whole texts would not do: one character that shrinks makes up for others that
// grow. Few texts are not like this.
func keepsPositions(text string) bool {
	for _, r := range text {
		if r == utf8.RuneError || utf8.RuneLen(unicode.ToLower(r)) != utf8.RuneLen(r) {
			return false
		}
	}
	return true
}

type wordsKey struct{}

// Within is a context in which what is logged has to be made safe.
func (w *Words) Within(ctx context.Context) context.Context {
	if w == nil {
		return ctx
	}
	return context.WithValue(ctx, wordsKey{}, w)
}

// From are the words that a context was made with by Within; nil for none.
func From(ctx context.Context) *Words {
	w, _ := ctx.Value(wordsKey{}).(*Words)
	return w
}

// Error is an error whose text is made safe. It wraps nothing, so that nobody gets
// at the text that it had.
func (w *Words) Error(err error) error {
	if w == nil || err == nil {
		return err
	}
	return errors.New(w.Text(err.Error()))
}
