package product

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/hack/release/facts"
)

const root = "../../.."

var released = facts.Facts{Version: "v1.2.3", Revision: "abcdef", Time: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}

func TestParsePlatform(t *testing.T) {
	for _, s := range []string{"linux/amd64", "windows/arm64"} {
		if p, err := ParsePlatform(s); err != nil || p.String() != s {
			t.Errorf("%s is %s, %v", s, p, err)
		}
	}
	for _, s := range []string{"", "linux", "linux/", "/amd64", "linux/arm/v7"} {
		if _, err := ParsePlatform(s); err == nil {
			t.Errorf("%q is a platform", s)
		}
	}
}

// elsewhere is a copy of the sources in another folder, without a repository.
func elsewhere(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	command := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "api", "cmd", "config", "examples", "go.mod", "go.sum", "internal")
	command.Dir = root
	listed, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestBuiltTwice builds the program here and from a copy elsewhere, in an environment that
// asks for something else, and then asks the program which it is.
func TestBuiltTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program twice")
	}
	here := Platform{runtime.GOOS, runtime.GOARCH}
	one, err := Build(t.Context(), root, released, here)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-buildvcs=true -tags=other")
	t.Setenv("CGO_ENABLED", "1")
	two, err := Build(t.Context(), elsewhere(t), released, here)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Data, two.Data) {
		t.Errorf("the programs differ: %d bytes and %d", len(one.Data), len(two.Data))
	}
	if _, err := Read(Platform{"plan9", "arm"}, one.Data); err == nil {
		t.Error("it is taken for another platform's")
	}
	file := filepath.Join(t.TempDir(), here.Binary())
	if err := os.WriteFile(file, one.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(file, "--version").Output()
	want := "sallyport v1.2.3 (abcdef) " + runtime.Version() + " " + here.String() + "\n"
	if err != nil || string(got) != want {
		t.Errorf("it says %q, %v, want %q", got, err, want)
	}
	got, err = exec.Command(file, "version", "-o", "json").Output()
	if err != nil || !strings.Contains(string(got), `"time": "2026-11-30T00:00:00Z"`) {
		t.Errorf("it says %s, %v", got, err)
	}
}

// TestMakefile has "make build" set the same variable, as the linker does not tell of one
// that is not there.
func TestMakefile(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	variable, _, _ := strings.Cut(strings.TrimPrefix(LinkerFlags(released), "-s -w -buildid= "), "=")
	if !strings.Contains(string(makefile), variable+"=$(VERSION)") {
		t.Errorf("the Makefile does not set %s", variable)
	}
}
