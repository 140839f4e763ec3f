package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

const (
	plainPod   = `{"uid":"1","operation":"CREATE","object":{"kind":"Pod","metadata":{"name":"web"},"spec":{}}}`
	networkPod = `{"uid":"1","operation":"CREATE","object":{"kind":"Pod","metadata":{"name":"web"},"spec":{"hostNetwork":true}}}`
	readsPods  = `{rules: [], contextAware: [{version: v1, resource: namespaces}], contextAwareResources: [{apiVersion: v1, kind: Secret}]}`
)

// store is where the modules of a test are.
type store struct {
	mu      sync.Mutex
	modules map[string][]byte
	asked   map[string]int
	// gate holds back what is asked for; nil for nothing.
	gate chan struct{}
	// slow are addresses that do not answer.
	slow map[string]bool
	// hanging counts those that wait for one.
	hanging atomic.Int32
}

func (s *store) Fetch(ctx context.Context, address string) (*fetch.Module, error) {
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if s.slow[address] {
		s.hanging.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[address]++
	wasm, ok := s.modules[address]
	if !ok {
		return nil, fmt.Errorf("%s is not there", address)
	}
	return &fetch.Module{Wasm: wasm, Digest: fetch.DigestOf(wasm)}, nil
}

func (s *store) put(address string, wasm []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.modules[address] = wasm
}

func (s *store) times(address string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[address]
}

// objects answers each read that was granted.
type objects struct{}

func (objects) Answer(context.Context, *contextgate.Admitted) ([]byte, error) {
	return []byte(`{"kind":"Namespace"}`), nil
}

// world is a Host with what it stands on.
type world struct {
	*runner.Host
	store *store
	clock *clocktesting.FakeClock

	mu      sync.Mutex
	denied  []contextgate.Denied
	changes int
}

func newWorld(t *testing.T, change func(*runner.Options)) *world {
	t.Helper()
	engine, err := wasm.NewEngine(context.Background(), wasm.Config{CacheDir: wasmtest.CompileCache(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		store: &store{modules: map[string][]byte{"file:///wapc.wasm": wasmtest.WaPC(t)}, asked: map[string]int{}},
		clock: clocktesting.NewFakeClock(time.Unix(0, 0)),
	}
	gate := &contextgate.Gate{Mapper: contextgate.Guess{Cluster: []string{"Namespace"}}, Backend: objects{}, Report: func(_ context.Context, d contextgate.Denied) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.denied = append(w.denied, d)
	}}
	o := runner.Options{Engine: engine, Fetcher: w.store, Context: gate, Clock: w.clock, Log: logr.Discard(), Changed: func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changes++
	}}
	if change != nil {
		change(&o)
	}
	w.Host = runner.NewHost(o)
	t.Cleanup(func() {
		w.Close()
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// made makes a policy; what is not given is as in most tests.
func made(t *testing.T, s runner.Spec) *runner.Policy {
	t.Helper()
	if s.Kind == "" {
		s.Kind = contextgate.ClusterAdmissionPolicy
	}
	if s.Name == "" {
		s.Name = "p"
	}
	if s.Module == "" {
		s.Module = "file:///wapc.wasm"
	}
	p, err := runner.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func settings(text string) json.RawMessage { return json.RawMessage(text) }

// load loads policies, and gives what became of the first.
func (w *world) load(t *testing.T, policies ...*runner.Policy) (runner.Info, error) {
	t.Helper()
	if err := w.Load(t.Context(), policies); err != nil {
		t.Fatal(err)
	}
	return w.Status(policies[0])
}

func (w *world) judge(t *testing.T, p *runner.Policy, request string) (wasm.Response, error) {
	t.Helper()
	return w.Judge(t.Context(), p, json.RawMessage(request), nil)
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited too long for this: %s", what)
		}
	}
}

func isLoading(err error) bool {
	var waiting *runner.NotReady
	return errors.As(err, &waiting) && waiting.Loading
}
