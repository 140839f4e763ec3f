package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

var pod = json.RawMessage(`{"uid":"1","operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"web","image":"nginx:1.27"}]}}}`)

var hostNetworkPod = json.RawMessage(`{"uid":"1","object":{"kind":"Pod","metadata":{"name":"web"},"spec":{"hostNetwork":true}}}`)

// guestDir is where guests and what is compiled from them stay from one run of
// the tests to the next. Names in it are hashes of what they were made from.
func guestDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "sallyport-guests")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// buildOnce returns the module that build makes of the files under dir.
func buildOnce(t testing.TB, dir string, build func(dir, out string) *exec.Cmd) []byte {
	t.Helper()
	sum := sha256.New()
	sum.Write([]byte(runtime.Version() + dir))
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
	out := filepath.Join(guestDir(t), hex.EncodeToString(sum.Sum(nil))+".wasm")
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

func goGuest(t testing.TB, name string, flags ...string) []byte {
	t.Helper()
	return buildOnce(t, filepath.Join("testdata", "guests", name), func(dir, out string) *exec.Cmd {
		command := exec.Command("go", append(append([]string{"build", "-trimpath"}, flags...), "-o", out, "main.go")...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
		return command
	})
}

func waPCGuest(t testing.TB) []byte { return goGuest(t, "wapc", "-buildmode=c-shared") }
func wasiGuest(t testing.TB) []byte { return goGuest(t, "wasi") }

func assemblyScriptGuest(t testing.TB) []byte {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the AssemblyScript guest needs %s to be built: %v", tool, err)
		}
	}
	if testing.Short() {
		t.Skip("the AssemblyScript guest is downloaded and built: not with -short")
	}
	return buildOnce(t, filepath.Join("testdata", "guests", "as"), func(dir, out string) *exec.Cmd {
		command := exec.Command("sh", "build.sh", out)
		command.Dir = dir
		return command
	})
}

func newEngine(t testing.TB, limits Limits) *Engine {
	t.Helper()
	e, err := NewEngine(context.Background(), Config{CacheDir: filepath.Join(guestDir(t), "compiled-1.12.0"), Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func compile(t testing.TB, e *Engine, module []byte) *Module {
	t.Helper()
	m, err := e.Compile(context.Background(), module, CompileOptions{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// wantReason checks that err is an Error for a reason.
func wantReason(t testing.TB, err error, want Reason) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got the error %v, want an *Error for %q", err, want)
	}
	if e.Reason != want {
		t.Fatalf("got the reason %q (%v), want %q", e.Reason, err, want)
	}
	return e
}

// recorder is an Observer that keeps what it is told.
type recorder struct {
	mu      sync.Mutex
	lines   []string
	dropped int
	calls   []string
	reasons []Reason
	made    int
}

func (r *recorder) Evaluated(_, _ string, _ time.Duration, reason Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reasons = append(r.reasons, reason)
}

func (r *recorder) HostCalled(_ string, call Call, _ time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := call.String()
	if err != nil {
		line += ": " + err.Error()
	}
	r.calls = append(r.calls, line)
}

func (r *recorder) Logged(_ string, stream Stream, line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, string(stream)+": "+line)
}

func (r *recorder) Dropped(_ string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped += n
}

func (r *recorder) Instantiated(string, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made++
}
