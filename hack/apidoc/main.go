// Command apidoc prints the reference of the kinds, as Markdown, from their
// CustomResourceDefinitions: apidoc [DIR], config/crd if none is named. The same
// definitions give the same bytes.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

func main() {
	dir := filepath.Join("config", "crd")
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(os.Stdout, dir); err != nil {
		fmt.Fprintln(os.Stderr, "apidoc:", err)
		os.Exit(1)
	}
}

// run writes the reference of all definitions in dir. Nothing is written unless
// every one of them can be read.
func run(w io.Writer, dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return fmt.Errorf("%s cannot be listed: %w", dir, err)
	}
	if len(paths) == 0 {
		return fmt.Errorf("%s holds no CustomResourceDefinition", dir)
	}
	slices.Sort(paths)
	var out bytes.Buffer
	out.WriteString(opening)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("a CustomResourceDefinition cannot be read: %w", err)
		}
		var crd definition
		if err := yaml.Unmarshal(content, &crd); err != nil {
			return fmt.Errorf("%s is not a CustomResourceDefinition: %w", path, err)
		}
		if err := crd.write(&out); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	_, err = w.Write(out.Bytes())
	return err
}

const opening = `# The kinds

<!-- Written by ` + "`make generate`" + ` from config/crd. Changes belong in api/v1alpha1. -->

Every field of every kind. A field with *required* has to be given wherever the object around it is. What a schema cannot say is checked when a policy is loaded and when it is written: see [denypolicy.md](denypolicy.md) and [pod-security.md](pod-security.md).
`
