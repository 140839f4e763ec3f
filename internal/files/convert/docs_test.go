package convert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTablesAreDocumented holds docs/from-kyverno.md to the tables: a row for
// each field, with what stands in the table about it.
func TestTablesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "from-kyverno.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(string(page), "\n")
	for _, table := range []map[string]string{droppedFields, lackingFields} {
		for key, why := range table {
			root, path, _ := strings.Cut(key, ".")
			switch {
			case root == "metadata":
				path = key
			case root == "exception":
				path = "PolicyException " + path
			}
			path = strings.Replace(path, lastApplied, `["`+lastApplied+`"]`, 1)
			path = strings.Replace(path, ".[", "[", 1)
			found := false
			for _, row := range rows {
				found = found || strings.HasPrefix(row, "|") && strings.Contains(row, "`"+path+"`") && strings.Contains(row, why)
			}
			if !found {
				t.Errorf("no row has `%s` with %q", path, why)
			}
		}
	}
}
