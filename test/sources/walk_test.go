package sources

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// eachSource calls visit with the path and the text of each Go file in internal/ that is
// not a test.
func eachSource(t *testing.T, visit func(path, source string)) {
	t.Helper()
	if err := filepath.WalkDir("../../internal", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err == nil {
			visit(path, string(source))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
