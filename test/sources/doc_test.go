package sources

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackagesSayTheirNames holds the comment of each package to its name: one that was
// renamed is not called what it was.
func TestPackagesSayTheirNames(t *testing.T) {
	said := 0
	for _, root := range []string{"../../internal", "../../test", "../../hack", "../../api", "../../config"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				return err
			}
			rest, is := strings.CutPrefix(parsed.Doc.Text(), "Package ")
			if name := parsed.Name.Name; is && name != "main" {
				if said++; !strings.HasPrefix(rest, name+" ") && !strings.HasPrefix(rest, name+"\n") {
					t.Errorf("%s begins with %.40q, and the package is %s", path, parsed.Doc.Text(), name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if said < 60 {
		t.Errorf("only %d packages were found: this test looks at the wrong ones", said)
	}
}
