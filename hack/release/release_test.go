package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/test/docs"
)

const root = "../.."

// environment is that of a release of the version that docs/release.md speaks of.
func environment(name string) string {
	return map[string]string{"VERSION": "v0.1.0", "SOURCE_DATE_EPOCH": "1796000000"}[name]
}

// release runs a command and returns what it prints.
func release(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), args, &out, environment); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestReleaseTwice makes the archives of one platform twice, and has a user check them as
// docs/release.md says. -platforms all makes all of them, which takes half an hour.
func TestReleaseTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program twice")
	}
	args := []string{"archives", "-root", root, "-platforms", *platforms}
	if *platforms == "all" {
		args = args[:3:3]
	}
	one, two := t.TempDir(), t.TempDir()
	first, second := release(t, append(args, "-out", one)...), release(t, append(args, "-out", two)...)
	if first != second {
		t.Errorf("two releases differ:\n%s", cmp.Diff(first, second))
	}
	verify(t, one)
}

var platforms = flag.String("platforms", runtime.GOOS+"/"+runtime.GOARCH, "what to make a release for, or all")

// verify runs the commands of docs/release.md for users, in the folder that the release
// stands in.
func verify(t *testing.T, dir string) {
	t.Helper()
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("docs/release.md shows linux/amd64")
	}
	if ran := runBlocks(t, dir, "README.md", "Install"); ran < 1 {
		t.Error("README.md does not say how it is installed")
	}
	if ran := runBlocks(t, dir, "docs/release.md", "How to verify an archive"); ran < 4 {
		t.Errorf("docs/release.md has %d blocks of commands for users", ran)
	}
	// What was changed on the way has to be found.
	name := filepath.Join(dir, "sallyport_v0.1.0_linux_amd64.tar.gz")
	packed, err := os.ReadFile(name)
	if err == nil {
		packed[len(packed)/2]++
		err = os.WriteFile(name, packed, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	check := exec.Command("sha256sum", "--check", "--ignore-missing", "SHA256SUMS")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err == nil {
		t.Errorf("a changed archive passes: %s", out)
	}
}

// runBlocks runs the commands of a section that can run without a cluster or the sources,
// in a folder that is a home too, and returns how many blocks it ran.
func runBlocks(t *testing.T, dir, page, heading string) (ran int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if err := docs.EachBlock(page, section, "sh", func(where, text string) {
		text = elsewhere.ReplaceAllString(text, "")
		if text == "" {
			return
		}
		ran++
		command := exec.Command("bash", "-euo", "pipefail", "-c", text)
		command.Dir, command.Env = dir, append(os.Environ(), "HOME="+dir)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s\n%s", where, err, text, out)
		}
		for _, want := range shown(text) {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: it prints\n%s\nand not %q", where, out, want)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return ran
}

// elsewhere are lines that need a cluster's tools or the sources, which other tests run.
var elsewhere = regexp.MustCompile(`(?m)^(?:kubectl|make|go install) .*\n`)

var prints = regexp.MustCompile(`(?m)# prints (.*)$`)

// shown are what the comments of a block say that it prints.
func shown(text string) []string {
	var out []string
	for _, found := range prints.FindAllStringSubmatch(text, -1) {
		out = append(out, found[1])
	}
	return out
}

// TestImageTwice makes the image of one platform twice.
func TestImageTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program twice")
	}
	one, two := t.TempDir(), t.TempDir()
	args := []string{"image", "-root", root, "-platforms", "linux/" + runtime.GOARCH}
	if first, second := release(t, append(args, "-out", one)...), release(t, append(args, "-out", two)...); first != second || !strings.HasPrefix(first, "sha256:") {
		t.Errorf("the digests are %s and %s", first, second)
	}
	for _, name := range []string{"image_linux_" + runtime.GOARCH + ".spdx.json", "image.provenance.json", "layout/index.json"} {
		first, err := os.ReadFile(filepath.Join(one, name))
		second, alsoErr := os.ReadFile(filepath.Join(two, name))
		if err != nil || alsoErr != nil || !bytes.Equal(first, second) {
			t.Errorf("%s differs: %v %v", name, err, alsoErr)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for args, says := range map[string]string{
		"": "no command", "archive": `there is no command "archive"`, "push": "-image is missing", "image -platforms linux": `"linux" is not a platform`, "image -root ../.. -platforms windows/amd64": "is for linux",
		"image now": "one argument too many", "push -image localhost:1/x -from nowhere": "make image writes it", "notes -root nowhere": "git rev-parse",
	} {
		err := run(t.Context(), strings.Fields(args), io.Discard, func(string) string { return "" })
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("release %s: %v, want %q", args, err, says)
		}
	}
}

func TestNotes(t *testing.T) {
	const changelog = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-30\n\n### Added\n- a thing\n\n## [1.2.2] - 2026-11-01\n"
	got, err := notes(changelog, "v1.2.3")
	if want := "### Added\n- a thing"; err != nil || got != want {
		t.Errorf("it is %q, %v, want %q", got, err, want)
	}
	for _, version := range []string{"v1.2.2", "v1.2.4", "v1.2"} {
		if got, err := notes(changelog, version); err == nil {
			t.Errorf("%s has the notes %q", version, got)
		}
	}
}

var makeLine = regexp.MustCompile(`(?m)^(?:[A-Z]+=\S+ )?make ((?:image|push|release|notes)\b.*?)(?: +#.*)?$`)

// TestMakefile runs what make runs as far as the flags, for every line of the docs.
func TestMakefile(t *testing.T) {
	var lines []string
	for _, page := range []string{"docs/release.md", "README.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range makeLine.FindAllStringSubmatch(string(text), -1) {
			lines = append(lines, found[1])
		}
	}
	if len(lines) < 6 {
		t.Errorf("the docs have %q", lines)
	}
	for _, line := range append(lines, "notes") {
		command := exec.Command("make", append([]string{"-n", "--no-print-directory"}, strings.Fields(line)...)...)
		command.Dir = root
		out, err := command.Output()
		if err != nil {
			t.Errorf("make %s: %v", line, err)
		}
		runs := 0
		for printed := range strings.Lines(string(out)) {
			_, args, ours := strings.Cut(printed, "hack/release ")
			if !ours {
				continue
			}
			runs++
			// -h behind all others: what is wrong with them is told first.
			err := run(t.Context(), append(strings.Fields(strings.ReplaceAll(args, `"`, "")), "-h"), io.Discard, environment)
			if !errors.Is(err, flag.ErrHelp) {
				t.Errorf("make %s runs %s: %v", line, args, err)
			}
		}
		if runs == 0 {
			t.Errorf("make %s does not run hack/release: %s", line, out)
		}
	}
}
