package sources

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors of internal/, the lowest first. What stands on one may import what stands on it
// or below it.
var floors = []string{
	"text", "calls", "watch", "review", "rules", "cluster", "identity", "excuse", "wasm",
	"observe", "engine", "door", "files", "controller", "app", "cli",
}

// largest is how many lines a package may have, without its tests.
const largest = 4_000

const internal = "github.com/sallyport-io/sallyport/internal/"

// upward reports what is wrong with an import, both by their paths below internal/.
func upward(from, to string) error {
	floor := func(of string) int {
		first, _, _ := strings.Cut(of, "/")
		return slices.Index(floors, first)
	}
	switch above, below := floor(from), floor(to); {
	case above < 0:
		return fmt.Errorf("%s stands on no floor", from)
	case below < 0:
		return fmt.Errorf("%s stands on no floor", to)
	case below > above:
		return fmt.Errorf("%s imports %s, which stands above it", from, to)
	}
	return nil
}

func TestUpward(t *testing.T) {
	for _, c := range []struct {
		from, to string
		wrong    bool
	}{
		{"engine/policy", "rules/match", false}, {"engine/policy", "engine/contexthost", false}, {"cli", "text/apijson", false},
		{"rules/match", "engine/policy", true}, {"text/apijson", "cli", true}, {"misc", "text/apijson", true}, {"cli", "misc/x", true},
	} {
		if err := upward(c.from, c.to); (err != nil) != c.wrong {
			t.Errorf("%s imports %s: %v", c.from, c.to, err)
		}
	}
}

// TestFloors holds packages to their floors and to their size. A test may import what
// stands above what it tests only where it has a package of its own, of which there are
// none yet.
func TestFloors(t *testing.T) {
	const root = "../../internal"
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, e := range entries {
		there = append(there, e.Name())
	}
	if want := slices.Sorted(slices.Values(floors)); !slices.Equal(there, want) {
		t.Errorf("internal/ has %q, and the floors are %q", there, want)
	}
	lines := map[string]int{}
	files := 0
	eachSource(t, func(file, text string) {
		files++
		from := path.Dir(strings.TrimPrefix(filepath.ToSlash(file), root+"/"))
		lines[from] += strings.Count(text, "\n")
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			to, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if to, ours := strings.CutPrefix(to, internal); ours {
				if err := upward(from, to); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	})
	if files < 500 {
		t.Errorf("only %d files were found: this test looks at the wrong ones", files)
	}
	for name, n := range lines {
		if n > largest {
			t.Errorf("%s has %d lines, more than %d: look for the second idea in it", name, n, largest)
		}
	}
}

// TestEachFloorSaysWhatItIs in a doc comment.
func TestEachFloorSaysWhatItIs(t *testing.T) {
	for _, floor := range floors {
		files, err := filepath.Glob(filepath.Join("../../internal", floor, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		said := false
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			said = said || parsed.Doc != nil && strings.HasPrefix(parsed.Doc.Text(), "Package "+floor+" ")
		}
		if !said {
			t.Errorf("internal/%s does not say what it is for", floor)
		}
	}
}
