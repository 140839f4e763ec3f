package main

import (
	"slices"
	"strings"
	"testing"
)

const before = `package a

import (
	"fmt"

	"github.com/sallyport-io/sallyport/internal/b"
)

// limit is a bound.
const limit = 5

var table = map[string]int{"a": 1, "b": 2}

// judge says whether n is too much.
func judge(n int) (bool, error) {
	if n > limit {
		return false, fmt.Errorf("%d is too much", n)
	}
	return b.Known(n) && helper(n), nil
}

func (t *thing) close() { t.open = false }
`

// TestDiffer finds what was changed beside names, imports and texts.
func TestDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		after       string
		gone, added []string
	}{
		"nothing": {before, nil, nil},
		"moved, renamed, and reworded": {`package other

import (
	"fmt"

	"github.com/sallyport-io/sallyport/internal/watch/known"
	"github.com/sallyport-io/sallyport/internal/tools"
)

func (x *Thing) Close() { x.Opened = false }

func Judge(count int) (bool, error) { if count > tools.Limit { return false, fmt.Errorf("%d are too many", count) }; return known.IsKnown(count) && tools.Helper(count), nil }

var Table = map[string]int{"x": 1, "y": 2}

const Limit = 5
`, nil, nil},
		"an operator":                   {replace("n > limit", "n >= limit"), []string{"judge"}, []string{"judge"}},
		"a number":                      {replace("limit = 5", "limit = 6"), []string{"limit"}, []string{"limit"}},
		"an entry of a table":           {replace(`"b": 2`, `"b": 3`), []string{"table"}, []string{"table"}},
		"another function of a library": {replace(`fmt.Errorf("%d is too much", n)`, `fmt.Sprintf("%d is too much", n)`), []string{"judge"}, []string{"judge"}},
		"one name for two things":       {replace("helper(n)", "judge(n)"), []string{"judge"}, []string{"judge"}},
		"one function for two":          {replace("helper(n)", "b.Known(n)"), []string{"judge"}, []string{"judge"}},
		"a function of another package": {replace("helper(n)", "known(n)"), nil, nil},
		"another field":                 {replace("t.open = false", "t.t = false"), nil, nil},
		"one field for two":             {replace("(t *thing) close() { t.open = false }", "(t *thing) open() { t.open = false }"), []string{"thing.close"}, []string{"thing.open"}},
		"what is gone":                  {replace("func (t *thing) close() { t.open = false }\n", ""), []string{"thing.close"}, nil},
		"what is new":                   {before + "func more() {}\n", nil, []string{"more"}},
		"a condition that is left out":  {replace("b.Known(n) && helper(n)", "b.Known(n)"), []string{"judge"}, []string{"judge"}},
		"a value of the language":       {replace("t.open = false", "t.open = true"), []string{"thing.close"}, []string{"thing.close"}},
	} {
		t.Run(name, func(t *testing.T) {
			gone, added := differ(parsed(t, before), parsed(t, c.after))
			if !slices.Equal(names(gone), c.gone) || !slices.Equal(names(added), c.added) {
				t.Errorf("gone %q, want %q; added %q, want %q", names(gone), c.gone, names(added), c.added)
			}
		})
	}
}

// TestForms tells apart what differs in a token that is not a name.
func TestForms(t *testing.T) {
	forms := map[string]string{}
	for _, body := range []string{
		"f(a...)", "f(a)", "a <- b", "a = b", "a := b", "a += b", "a++", "a--", "for range a {}", "for a := range b {}", "for a = range b {}", "go f()", "defer f()",
		"var a chan<- int", "var a <-chan int", "var a chan int", "return", "goto a", "break a", "continue a", "a = *b", "a = &b", "a = -b", "a = b[c:]", "a = b[:c]", "a = b[c]",
		"switch a {case b: default:}", "switch a {case b:}", "if a {} else {}", "if a {}", "a = 'x'", "a = 'y'", "a = 1.5", "var a interface{}", "var a any", "type a = b", "type a b",
	} {
		all := parsed(t, "package a\nfunc x() { "+body+" }\n")
		if other, twice := forms[all[0].form]; twice {
			t.Errorf("%q is taken for %q", body, other)
		}
		forms[all[0].form] = body
	}
}

func parsed(t *testing.T, text string) []unit {
	t.Helper()
	all, err := parse("a.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func names(all []unit) []string {
	var names []string
	for _, u := range all {
		names = append(names, u.name)
	}
	return names
}

func replace(old, new string) string { return strings.Replace(before, old, new, 1) }
