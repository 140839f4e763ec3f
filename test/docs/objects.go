package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// Object is an object of a kind of Sallyport in some file, and where it stands.
type Object struct{ Where, Text string }

// Objects are all such objects in the documents, the examples and what tests use,
// below the root of the repository; the right ones and the wrong ones.
func Objects(root string) ([]Object, error) {
	var found []Object
	add := func(where, text string) {
		for n, document := range strings.Split("\n"+text, "\n---") {
			if strings.Contains(document, "apiVersion: "+v1alpha1.GroupVersion.String()) {
				found = append(found, Object{fmt.Sprintf("%s, document %d", where, n+1), document})
			}
		}
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin" || path == filepath.Join(root, "config")):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		ext := filepath.Ext(path)
		if ext != ".md" && ext != ".yaml" && ext != ".yml" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		where, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if ext != ".md" {
			add(where, string(text))
			return nil
		}
		return EachBlock(where, string(text), "yaml", add)
	})
	return found, err
}
