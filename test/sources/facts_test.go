package sources

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fact is a row of the table of docs/architecture.md that says where each fact stands.
type fact struct{ says, place, only string }

var factRow = regexp.MustCompile("(?m)^\\| (.+) \\| `([^`]+\\.go)` \\| `([^`]+)` \\|$")

func facts(t *testing.T) []fact {
	t.Helper()
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "## One place for each fact")
	if !found {
		t.Fatal("docs/architecture.md has no section that says where each fact stands")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var all []fact
	for _, row := range factRow.FindAllStringSubmatch(section, -1) {
		all = append(all, fact{row[1], row[2], row[3]})
	}
	if rows := strings.Count(section, "\n| ") - 1; len(all) != rows || rows < 10 {
		t.Fatalf("of %d rows of the table %d can be read", rows, len(all))
	}
	return all
}

// TestEachFactStandsOnce looks for a second place that knows what the table says that
// one place knows.
func TestEachFactStandsOnce(t *testing.T) {
	all := facts(t)
	places := map[string][]string{}
	for _, root := range []string{"api", "cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, f := range all {
				if strings.Contains(string(source), f.only) {
					name, err := filepath.Rel("../..", path)
					if err != nil {
						return err
					}
					places[f.only] = append(places[f.only], filepath.ToSlash(name))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range all {
		if got := places[f.only]; len(got) != 1 || got[0] != f.place {
			t.Errorf("%s is to stand in %s, by which %q is found; it is in %v", f.says, f.place, f.only, got)
		}
	}
}
