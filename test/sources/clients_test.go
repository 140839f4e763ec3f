package sources

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// makesClient is how a client of an API server is made.
var makesClient = regexp.MustCompile(`\b\w*ForConfig(AndClient)?\(|\bclient\.New\(|\bcache\.New\(|\bRESTClientFor\(|\bHTTPClientFor\(`)

// TestClientsHaveAPace finds clients that are made without a pace: client-go would hold
// them to 5 requests a second, which is seen only where there is much.
func TestClientsHaveAPace(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../internal", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(source), `"k8s.io/client-go/rest"`) || !makesClient.Match(source) {
			return err
		}
		found++
		if !strings.Contains(string(source), "pace.") {
			t.Errorf("%s makes a client of an API server without a pace of internal/pace", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("only %d files make clients", found)
	}
}
