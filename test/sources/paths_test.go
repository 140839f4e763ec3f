package sources

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var ourPath = regexp.MustCompile(`internal(?:/[a-z0-9_]+)+(?:\*?\.go)?`)

// TestPathsInDocs finds what the documentation names of our sources and is not there any
// more. Decisions tell of what was so when they were made, and are held to it as well, as
// a reader goes and looks.
func TestPathsInDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	decisions, alsoErr := filepath.Glob("../../docs/decisions/*.md")
	if err != nil || alsoErr != nil {
		t.Fatal(err, alsoErr)
	}
	named := 0
	for _, page := range append(append(pages, decisions...), "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range ourPath.FindAllString(string(text), -1) {
			named++
			if there, err := filepath.Glob(filepath.Join("../..", path)); err != nil || len(there) == 0 {
				t.Errorf("%s names %s, which is not there", strings.TrimPrefix(page, "../../"), path)
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d paths were found: this test looks for the wrong thing", named)
	}
}
