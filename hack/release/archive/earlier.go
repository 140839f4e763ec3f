package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Earlier gives the files that an earlier release left in a folder, by its checksums. A
// folder with anything else in it is an error, so that nothing is taken away that is not
// ours, and nothing stands beside a release that is not of it.
func Earlier(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(dir, Checksums))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	known := map[string]bool{Checksums: true}
	for line := range strings.Lines(string(sums)) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			known[name] = true
		}
	}
	var old []string
	for _, e := range entries {
		if !known[e.Name()] {
			return nil, fmt.Errorf("%s has %s, which is not of a release by its %s; it is left as it is", dir, e.Name(), Checksums)
		}
		old = append(old, e.Name())
	}
	return old, nil
}
