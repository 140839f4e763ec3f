// Command prose finds phrases that the messages, pages and comments of Sallyport do
// without, in every file that is under version control:
//
//	go run ./hack/prose
//
// Printed is a line for each: where it is, what was found, what to write. What is not ours
// to word stands, with the reason, in phrases.go. The command ends with status 1 if a
// phrase was found, and with 2 if a file cannot be read.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// checked are the endings of the files that people write prose in.
var checked = []string{".go", ".md", ".yaml", ".yml", ".text", ".txt", ".rego", ".ts", ".sh", "Makefile"}

func main() {
	clean, err := run(os.Stdout, ".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	if !clean {
		os.Exit(1)
	}
}

// run checks the files below root that git knows, and reports whether nothing was found.
func run(w io.Writer, root string) (clean bool, err error) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		return false, fmt.Errorf("the files under version control cannot be listed: %w", err)
	}
	clean = true
	for name := range bytes.SplitSeq(bytes.TrimRight(names, "\x00"), []byte{0}) {
		path := string(name)
		if !isChecked(path) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			return false, fmt.Errorf("a file cannot be read: %w", err)
		}
		for _, f := range find(path, string(text)) {
			clean = false
			fmt.Fprintf(w, "%s:%d: %q: %s\n", path, f.line, f.found, f.write)
		}
	}
	return clean, nil
}

func isChecked(path string) bool {
	return slices.ContainsFunc(checked, func(ending string) bool { return strings.HasSuffix(path, ending) })
}
