package cli

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/examples"
	"github.com/sallyport-io/sallyport/internal/excuse/pass"
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
			if _, _, _, err := compile(loaded, pass.Options{}); err != nil {
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
				if _, err := newCompleter(pod.Default(), &warned).object(t.Context(), d, "default"); err != nil || warned.Len() > 0 {
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

// TestDemoScenes holds each scene to what it is there to show.
func TestDemoScenes(t *testing.T) {
	s, err := newStage()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"allow", "warn", "deny", "deny",
		"allow", "warn", "deny", "deny", "allow", "deny",
	}
	var got []string
	for i := range frontScenes {
		a, err := s.front(t.Context(), &frontScenes[i])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(a.decision.Verdict))
	}
	for i := range sideScenes {
		a, err := s.side(t.Context(), &sideScenes[i])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(a.decision.Verdict))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestWriteExamples writes the examples and judges what was written.
func TestWriteExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	status, stdout, stderr := run(t, "", "demo", "--write", "out")
	if status != 0 || !strings.Contains(stdout, "sallyport check -p out/demo/policies out/demo/manifests") {
		t.Fatalf("exit status %d\n%s%s", status, stdout, stderr)
	}
	if status, stdout, _ := run(t, "", "check", "-p", "out/demo/policies", "out/demo/manifests"); status != 1 {
		t.Errorf("exit status %d\n%s", status, stdout)
	}
	if status, _, stderr := run(t, "", "demo", "--write", "out"); status != 2 || !strings.Contains(stderr, "out is there already") {
		t.Errorf("exit status %d, %s", status, stderr)
	}
}
