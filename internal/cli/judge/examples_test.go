package judge_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/examples"
	"github.com/sallyport-io/sallyport/internal/cli/judge"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/compiled"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// TestEveryExampleLoads reads each file for itself. TestGolden shows that they
// decide as they say.
func TestEveryExampleLoads(t *testing.T) {
	files := 0
	err := fs.WalkDir(examples.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		t.Run(path, func(t *testing.T) {
			data, err := examples.Files.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			loaded := load.Collect(load.Parse(path, data))
			if _, _, _, err := compiled.Compile(loaded, exception.Options{}); err != nil {
				t.Error(err)
			}
			isPolicy := strings.Contains(path, "policies/") || strings.HasPrefix(path, "podsecurity/") || strings.HasPrefix(path, "identities/") && path != "identities/holders.yaml"
			if found := loaded.Policies(); (found > 0) != isPolicy {
				t.Errorf("%d policies", found)
			}
			for d, problems := range load.Parse(path, data) {
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				var warned strings.Builder
				if _, err := judge.NewCompleter(pod.Default(), &warned).Object(t.Context(), d, "default"); err != nil || warned.Len() > 0 {
					t.Error(err, warned.String())
				}
			}
		})
		return nil
	})
	if err != nil || files < 15 {
		t.Errorf("%d files, %v", files, err)
	}
}
