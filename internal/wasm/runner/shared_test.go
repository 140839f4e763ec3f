package runner

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

// one has the same module at every address.
type one struct{ wasm []byte }

func (o one) Fetch(context.Context, string) (*fetch.Module, error) {
	return &fetch.Module{Wasm: o.wasm, Digest: fetch.DigestOf(o.wasm)}, nil
}

// TestOneCompiledModule says that policies with the same module share what it was
// compiled to, and that it goes with the last of them.
func TestOneCompiledModule(t *testing.T) {
	engine, err := wasm.NewEngine(context.Background(), wasm.Config{CacheDir: wasmtest.CompileCache(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.Background())
	h := NewHost(Options{
		Engine: engine, Fetcher: one{wasmtest.WaPC(t)}, Clock: clock.RealClock{}, Log: logr.Discard(),
		Context: &contextgate.Gate{Mapper: contextgate.Guess{}},
	})
	defer h.Close()
	var policies []*Policy
	for _, settings := range []string{`{}`, `{"label":"a"}`, `{"label":"forbidden"}`} {
		p, err := New(Spec{Kind: contextgate.ClusterAdmissionPolicy, Name: "p", Module: "file:///p.wasm", Settings: []byte(settings)})
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
	}
	modules := func() map[string]*shared { h.mu.Lock(); defer h.mu.Unlock(); return h.shared }
	users := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		n := 0
		for _, m := range h.shared {
			n += m.users
		}
		return n
	}
	if err := h.Load(t.Context(), policies); err != nil {
		t.Fatal(err)
	}
	if len(modules()) != 1 || users() != 2 {
		t.Errorf("%d modules with %d users, want one with two", len(modules()), users())
	}
	if _, err := h.Try(t.Context(), policies[1]); err != nil || users() != 2 {
		t.Errorf("after a trial there are %d users, %v", users(), err)
	}
	h.Want(policies[:1])
	var kept *shared
	for _, m := range modules() {
		kept = m
	}
	if users() != 1 {
		t.Fatalf("%d users, want one", users())
	}
	h.Want(nil)
	if len(modules()) != 0 {
		t.Error("a module that nobody uses is kept")
	}
	h.Close()
	evaluator := kept.module.Evaluator(wasm.EvaluatorOptions{})
	if _, err := evaluator.Validate(t.Context(), []byte(`{}`), nil); err == nil {
		t.Error("a module that was let go of was not closed")
	}
}

// TestModulesOfNamespaces says that a policy of a namespace takes no instances from
// those of the cluster which have the same module.
func TestModulesOfNamespaces(t *testing.T) {
	engine, err := wasm.NewEngine(context.Background(), wasm.Config{CacheDir: wasmtest.CompileCache(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.Background())
	h := NewHost(Options{
		Engine: engine, Fetcher: one{wasmtest.WaPC(t)}, Clock: clock.RealClock{}, Log: logr.Discard(),
		Context: &contextgate.Gate{Mapper: contextgate.Guess{}},
	})
	defer h.Close()
	var policies []*Policy
	for _, s := range []Spec{
		{Kind: contextgate.ClusterAdmissionPolicy, Name: "wide"},
		{Kind: "AdmissionPolicy", Namespace: "shop", Name: "own"},
		{Kind: "AdmissionPolicy", Namespace: "bank", Name: "own"},
	} {
		s.Module = "https://modules.example/p.wasm"
		p, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
	}
	if err := h.Load(t.Context(), policies); err != nil {
		t.Fatal(err)
	}
	of := func(p *Policy) *shared {
		l, err := h.find(p).get()
		if err != nil {
			t.Fatal(err)
		}
		return l.module
	}
	if of(policies[0]).module == of(policies[1]).module || of(policies[1]).module != of(policies[2]).module {
		t.Error("the policy of the cluster shares its module with one of a namespace, or these do not share theirs")
	}
}
