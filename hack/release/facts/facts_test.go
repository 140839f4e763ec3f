package facts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is one with a commit of 2026-11-30, tagged as tag if it is not empty.
func repository(t *testing.T, tag string) string {
	t.Helper()
	dir := t.TempDir()
	steps := [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "one"}}
	if tag != "" {
		steps = append(steps, []string{"tag", tag})
	}
	for _, args := range steps {
		command := exec.Command("git", args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
			"GIT_COMMITTER_DATE=2026-11-30T00:00:00Z", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, tag, change string
		env               map[string]string
		version, at       string
		modified          bool
	}{
		{name: "a tag", tag: "v1.2.3", version: "v1.2.3", at: "2026-11-30T00:00:00Z"},
		{name: "no tag", version: "v0.0.0-g", at: "2026-11-30T00:00:00Z"},
		{name: "a tag that is not a version", tag: "latest", version: "v0.0.0-glatest", at: "2026-11-30T00:00:00Z"},
		{name: "a file that git does not know", tag: "v1.2.3", change: "new.go", version: "v1.2.3-dirty", at: "2026-11-30T00:00:00Z", modified: true},
		{name: "given", env: map[string]string{"VERSION": "v2.0.0-rc.1", "SOURCE_DATE_EPOCH": "1"}, version: "v2.0.0-rc.1", at: "1970-01-01T00:00:01Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := repository(t, c.tag)
			if c.change != "" {
				if err := os.WriteFile(filepath.Join(dir, c.change), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f, err := Read(t.Context(), dir, func(name string) string { return c.env[name] })
			if err != nil {
				t.Fatal(err)
			}
			if exact := c.tag != "" || c.env != nil; f.Version != c.version && (exact || !strings.HasPrefix(f.Version, c.version)) {
				t.Errorf("the version is %s, want %s", f.Version, c.version)
			}
			if got := f.Time.Format("2006-01-02T15:04:05Z07:00"); got != c.at {
				t.Errorf("the time is %s, want %s", got, c.at)
			}
			if (f.Commit() == "") != c.modified || strings.HasSuffix(f.Revision, modified) != c.modified {
				t.Errorf("the revision is %s, and the commit %q", f.Revision, f.Commit())
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	dir := repository(t, "")
	for _, c := range []struct{ name, value string }{
		{"VERSION", "1.2.3"}, {"VERSION", "v1.2"}, {"VERSION", "v1.2.3+x"}, {"VERSION", "latest"},
		{"SOURCE_DATE_EPOCH", "today"}, {"SOURCE_DATE_EPOCH", "-1"},
	} {
		_, err := Read(t.Context(), dir, func(name string) string {
			if name == c.name {
				return c.value
			}
			return ""
		})
		if err == nil || !strings.Contains(err.Error(), c.name) || !strings.Contains(err.Error(), c.value) {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
	}
	if _, err := Read(t.Context(), t.TempDir(), func(string) string { return "" }); err == nil {
		t.Error("a folder without a repository has facts")
	}
}
