package archive

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEarlier(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, empty := range []string{dir, filepath.Join(dir, "nowhere")} {
		if old, err := Earlier(empty); err != nil || len(old) != 0 {
			t.Errorf("%s has %q, %v", empty, old, err)
		}
	}
	write("a.zip", "")
	write(Checksums, strings.Repeat("0", 64)+"  a.zip\n"+strings.Repeat("0", 64)+"  gone.zip\n")
	if old, err := Earlier(dir); err != nil || !slices.Equal(old, []string{Checksums, "a.zip"}) {
		t.Errorf("there are %q, %v", old, err)
	}
	write("thesis.txt", "")
	if old, err := Earlier(dir); err == nil || !strings.Contains(err.Error(), "has thesis.txt") {
		t.Errorf("there are %q, %v", old, err)
	}
}
