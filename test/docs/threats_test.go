package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreatModel holds the page to the tree: each test that it names is there, and
// so is each file and package.
func TestThreatModel(t *testing.T) {
	page, err := os.ReadFile("../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range declared.FindAllSubmatch(source, -1) {
			tests[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, found := range regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(page, -1) {
		named++
		if !tests[string(found[1])] {
			t.Errorf("there is no test %s", found[1])
		}
	}
	for _, found := range regexp.MustCompile("`((?:internal|config|hack)/[\\w/.-]+)`").FindAllSubmatch(page, -1) {
		named++
		if _, err := os.Stat(filepath.Join("../..", string(found[1]))); err != nil {
			t.Errorf("there is no %s", found[1])
		}
	}
	if named < 50 {
		t.Errorf("%d tests, files and packages are found on the page, which names more", named)
	}
}
