package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

var pod = json.RawMessage(`{"uid":"1","operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"web","image":"nginx:1.27"}]}}}`)

var hostNetworkPod = json.RawMessage(`{"uid":"1","object":{"kind":"Pod","metadata":{"name":"web"},"spec":{"hostNetwork":true}}}`)

func waPCGuest(t testing.TB) []byte           { return wasmtest.WaPC(t) }
func wasiGuest(t testing.TB) []byte           { return wasmtest.WASI(t) }
func assemblyScriptGuest(t testing.TB) []byte { return wasmtest.AssemblyScript(t) }

func newEngine(t testing.TB, limits Limits) *Engine {
	t.Helper()
	e, err := NewEngine(context.Background(), Config{CacheDir: wasmtest.CompileCache(t), Limits: limits})
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
