// Command chart brings the chart up to date, from the root of the repository: what it
// renders of config/, which it holds as copies since a chart reaches nothing beside it,
// and the table of its values in docs/helm.md, which is made of the comments in
// values.yaml. The same sources give the same bytes.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// Where things stand in the repository.
const (
	copiesDir  = "charts/sallyport/files"
	valuesFile = "charts/sallyport/values.yaml"
	page       = "docs/helm.md"
)

// sources are the files below config/ that the chart renders. What a cluster that is
// guarded from elsewhere needs, and what stands in an API server, is not the chart's.
var sources = []string{"crd/*.yaml", "rbac/*.yaml", "rbac/features/*.yaml", "rbac/people/*.yaml", "wiring/*webhookconfiguration*.yaml"}

// run writes the copies and the table of the repository at root.
func run(root string) error {
	wanted, err := copies(root)
	if err != nil {
		return err
	}
	documented, err := documentation(root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(root, copiesDir)); err != nil {
		return err
	}
	for name, content := range wanted {
		file := filepath.Join(root, copiesDir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(root, page), documented, 0o644)
}

// copies are the contents of the files that the chart holds copies of, by their paths
// below copiesDir. It is an error if one of the sources matches nothing.
func copies(root string) (map[string][]byte, error) {
	config := filepath.Join(root, "config")
	found := map[string][]byte{}
	for _, pattern := range sources {
		files, err := filepath.Glob(filepath.Join(config, pattern))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("config/%s matches nothing", pattern)
		}
		for _, file := range files {
			name, err := filepath.Rel(config, file)
			if err != nil {
				return nil, err
			}
			if found[filepath.ToSlash(name)], err = os.ReadFile(file); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// begins and ends are the lines of the page between which the table stands.
const (
	begins = "<!-- Written by `make generate` from charts/sallyport/values.yaml. -->\n"
	ends   = "<!-- End of what is written. -->\n"
)

// documentation is the page with the table as values.yaml has it.
func documentation(root string) ([]byte, error) {
	values, err := os.ReadFile(filepath.Join(root, valuesFile))
	if err != nil {
		return nil, err
	}
	made, err := table(values)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", valuesFile, err)
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return nil, err
	}
	before, rest, began := bytes.Cut(text, []byte(begins))
	_, after, ended := bytes.Cut(rest, []byte(ends))
	if !began || !ended {
		return nil, errors.New(page + " does not have the two comments between which the table of values stands")
	}
	return bytes.Join([][]byte{before, []byte(begins), []byte("\n" + made + "\n"), []byte(ends), after}, nil), nil
}
