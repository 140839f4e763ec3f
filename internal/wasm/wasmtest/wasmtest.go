// Package wasmtest builds policies that are Wasm modules, for tests. What was
// built once stays for the next run of the tests.
package wasmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sallyport-io/sallyport/internal/wasm/module"
)

// WaPC is a policy in Go that speaks waPC. It refuses pods on the host's network;
// with the setting label it labels what it is shown; with the setting namespace it
// reads that Namespace; the label "forbidden" is a setting that it refuses.
func WaPC(t testing.TB) []byte { return goGuest(t, "wapc", "-buildmode=c-shared") }

// WASI is the same policy as a WASI command.
func WASI(t testing.TB) []byte { return goGuest(t, "wasi") }

// Any is the guest whose settings say what it does.
func Any(t testing.TB) []byte { return goGuest(t, "any", "-buildmode=c-shared") }

// Strict is the guest that reads the request as strictly as typed SDKs do. With the
// setting show, it refuses and says what it read.
func Strict(t testing.TB) []byte { return goGuest(t, "strict", "-buildmode=c-shared") }

// AssemblyScript is the same policy in AssemblyScript, which speaks waPC. The test
// is skipped where it cannot be built.
func AssemblyScript(t testing.TB) []byte {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the AssemblyScript guest needs %s to be built: %v", tool, err)
		}
	}
	if testing.Short() {
		t.Skip("the AssemblyScript guest is downloaded and built: not with -short")
	}
	return buildOnce(t, source(t, "as"), func(dir, out string) *exec.Cmd {
		command := exec.Command("sh", "build.sh", out)
		command.Dir = dir
		return command
	})
}

// Annotated is a module with metadata, which is YAML, written into it.
func Annotated(t testing.TB, wasm []byte, metadata string) []byte {
	t.Helper()
	m, err := module.ReadYAML([]byte(metadata))
	if err == nil {
		wasm, err = module.Annotate(wasm, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// File writes a module into a file, which goes with the test, and returns its path.
func File(t testing.TB, wasm []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Dir is where guests and what is compiled from them stay from one run of the
// tests to the next. Names in it are hashes of what they were made from.
func Dir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "sallyport-guests")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// CompileCache is a directory for what an engine compiles.
func CompileCache(t testing.TB) string {
	t.Helper()
	return filepath.Join(Dir(t), "compiled-1.12.0")
}

// source is the directory of a guest's source, which is looked for from the
// directory of the test upwards.
func source(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		found := filepath.Join(dir, "internal", "wasm", "testdata", "guests", name)
		if _, missing := os.Stat(found); missing == nil {
			return found
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("the source of the guest %s is in no directory above this one: %v", name, err)
	return ""
}

func goGuest(t testing.TB, name string, flags ...string) []byte {
	t.Helper()
	return buildOnce(t, source(t, name), func(dir, out string) *exec.Cmd {
		command := exec.Command("go", append(append([]string{"build", "-trimpath"}, flags...), "-o", out, "main.go")...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
		return command
	})
}

// buildOnce returns the module that build makes of the files in dir.
func buildOnce(t testing.TB, dir string, build func(dir, out string) *exec.Cmd) []byte {
	t.Helper()
	sum := sha256.New()
	sum.Write([]byte(runtime.Version() + filepath.Base(dir)))
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", dir, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(content)
	}
	out := filepath.Join(Dir(t), hex.EncodeToString(sum.Sum(nil))+".wasm")
	if _, err := os.Stat(out); err != nil {
		// Another test binary may build the same: the last one to rename wins.
		made := filepath.Join(t.TempDir(), "guest.wasm")
		command := build(dir, made)
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", dir, err, output)
		}
		content, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		part := out + filepath.Base(t.TempDir())
		if err := errors.Join(os.WriteFile(part, content, 0o600), os.Rename(part, out)); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
