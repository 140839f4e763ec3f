package runner_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
	"github.com/sallyport-io/sallyport/internal/wasm/wasmtest"
)

func TestLoaded(t *testing.T) {
	w := newWorld(t, nil)
	w.store.put("file:///wasi.wasm", wasmtest.WASI(t))
	for address, runtime := range map[string]string{"file:///wapc.wasm": "wapc", "file:///wasi.wasm": "wasi"} {
		p := made(t, runner.Spec{Module: address, Settings: settings(`{"label":"team"}`), Mutating: true})
		info, err := w.load(t, p)
		if err != nil || info.Runtime != runtime || !strings.HasPrefix(info.Digest, "sha256:") || len(info.Missing)+len(info.Notes) > 0 {
			t.Errorf("%s: %+v, %v", address, info, err)
		}
		r, err := w.judge(t, p, networkPod)
		if err != nil || r.Accepted || !strings.HasPrefix(r.Message, "host network is not allowed") {
			t.Errorf("%s refuses: %+v, %v", address, r, err)
		}
		if r, err = w.judge(t, p, plainPod); err != nil || !r.Accepted || !bytes.Contains(r.MutatedObject, []byte(`"team":"set"`)) {
			t.Errorf("%s accepts: %+v, %v", address, r, err)
		}
	}
}

func TestModulesThatCannotBeUsed(t *testing.T) {
	w := newWorld(t, nil)
	whole := wasmtest.WaPC(t)
	annotated := func(metadata string) []byte { return wasmtest.Annotated(t, whole, metadata) }
	section := func(content string) []byte {
		body := append([]byte{byte(len("io.kubewarden.metadata"))}, "io.kubewarden.metadata"+content...)
		return append(append(slices.Clone(whole), 0, byte(len(body))), body...)
	}
	// One import of a function of no type that is known, and nothing else.
	unknown := []byte("\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x02\x0a\x01\x04wapc\x01x\x00\x00" + "\x03\x02\x01\x00" + "\x07\x10\x01\x0c__guest_call\x00\x01" + "\x0a\x04\x01\x02\x00\x0b")
	for name, tt := range map[string]struct {
		wasm []byte
		spec runner.Spec
		want string
	}{
		"not Wasm":                     {[]byte("hello"), runner.Spec{}, "WebAssembly"},
		"nothing":                      {[]byte{}, runner.Spec{}, "WebAssembly"},
		"truncated":                    {whole[:len(whole)/2], runner.Spec{}, "cut off or damaged"},
		"no exports":                   {[]byte("\x00asm\x01\x00\x00\x00"), runner.Spec{}, "exports neither"},
		"imports that are not given":   {unknown, runner.Spec{}, "imports what is not given"},
		"metadata that is not JSON":    {section(`{"rules"`), runner.Spec{}, "metadata"},
		"metadata of the wrong kind":   {section(`[]`), runner.Spec{}, "metadata"},
		"metadata in other letters":    {section(`{"Mutating":true}`), runner.Spec{}, `spelled "mutating"`},
		"rules that are for nothing":   {section(`{"rules":[{}]}`), runner.Spec{}, "metadata cannot be used"},
		"a raw policy":                 {annotated(`{policyType: raw}`), runner.Spec{}, `"raw"`},
		"settings that it refuses":     {whole, runner.Spec{Settings: settings(`{"label":"forbidden"}`)}, "does not take the settings: the label must not be forbidden"},
		"settings of another type":     {whole, runner.Spec{Settings: settings(`{"label":7}`)}, "the settings cannot be checked"},
		"a namespace, and it declares": {annotated(readsPods), runner.Spec{Kind: "AdmissionPolicy", Namespace: "shop"}, "reads the cluster (namespaces: the module reads it"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Module = "file:///" + strings.ReplaceAll(name, " ", "-")
			w.store.put(tt.spec.Module, tt.wasm)
			p := made(t, tt.spec)
			_, err := w.load(t, p)
			var not *runner.NotReady
			if !errors.As(err, &not) || not.Loading || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the state is %v, want %q", err, tt.want)
			}
			if _, judged := w.judge(t, p, plainPod); judged == nil || judged.Error() != err.Error() {
				t.Errorf("judging: %v, want %v", judged, err)
			}
			var refused *runner.SettingsRefused
			if errors.As(err, &refused) != (name == "settings that it refuses") {
				t.Errorf("%v is taken for what the module says of the settings", err)
			}
		})
	}
	good := made(t, runner.Spec{Name: "good"})
	if _, err := w.load(t, good); err != nil {
		t.Errorf("the others keep one from working: %v", err)
	}
}

func TestTriedAgain(t *testing.T) {
	w := newWorld(t, nil)
	const address = "https://example.com/late.wasm"
	p := made(t, runner.Spec{Module: address})
	if _, err := w.load(t, p); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Fatal(err)
	}
	until(t, "the first wait", w.clock.HasWaiters)
	w.clock.Step(4e9)
	if n := w.store.times(address); n != 1 {
		t.Errorf("asked for %d times before the time", n)
	}
	w.clock.Step(1e9)
	until(t, "a second try", func() bool { return w.store.times(address) == 2 })
	w.store.put(address, []byte("no module"))
	until(t, "the second wait", w.clock.HasWaiters)
	w.clock.Step(10e9)
	until(t, "what was found", func() bool {
		_, err := w.Status(p)
		return err != nil && strings.Contains(err.Error(), "WebAssembly")
	})
	// What is not pinned may be put right.
	w.store.put(address, wasmtest.WaPC(t))
	until(t, "the third wait", w.clock.HasWaiters)
	w.clock.Step(20e9)
	until(t, "the module", func() bool { _, err := w.Status(p); return err == nil })
	if w.clock.HasWaiters() {
		t.Error("what is loaded is still tried")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changes != 4 {
		t.Errorf("told of %d changes, want 4", w.changes)
	}
}

func TestPinnedIsNotTriedAgain(t *testing.T) {
	w := newWorld(t, nil)
	p := made(t, runner.Spec{Module: "registry://example.com/p@sha256:" + strings.Repeat("a", 64)})
	w.store.put(p.Module, []byte("no module"))
	if _, err := w.load(t, p); err == nil {
		t.Fatal("it was loaded")
	}
	until(t, "the change to be told", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.changes == 1 })
	if w.clock.HasWaiters() {
		t.Error("what cannot change is tried again")
	}
}

// TestForeign says that what a namespace names is fetched as somebody else's.
func TestForeign(t *testing.T) {
	w := newWorld(t, func(o *runner.Options) { o.Fetcher = fetch.New(fetch.Options{}) })
	file := "file://" + wasmtest.File(t, wasmtest.WaPC(t))
	if _, err := w.load(t, made(t, runner.Spec{Module: file})); err != nil {
		t.Error(err)
	}
	if _, err := w.load(t, made(t, runner.Spec{Module: file, Kind: "AdmissionPolicy", Namespace: "shop"})); err == nil || !strings.Contains(err.Error(), "a file of the server") {
		t.Errorf("a file of the server: %v", err)
	}
}

func TestShared(t *testing.T) {
	w := newWorld(t, nil)
	one, two := made(t, runner.Spec{Name: "one"}), made(t, runner.Spec{Name: "two", Settings: settings(`{"label":"a"}`)})
	if _, err := w.load(t, one, two); err != nil {
		t.Fatal(err)
	}
	w.Want([]*runner.Policy{two})
	if _, err := w.judge(t, one, plainPod); !isLoading(err) {
		t.Errorf("a policy that is gone: %v", err)
	}
	if r, err := w.judge(t, two, networkPod); err != nil || r.Accepted {
		t.Errorf("the other one: %+v, %v", r, err)
	}
	w.Want(nil)
	// The same module comes again.
	if _, err := w.load(t, one); err != nil {
		t.Fatal(err)
	}
	if r, err := w.judge(t, one, networkPod); err != nil || r.Accepted {
		t.Errorf("after all were gone: %+v, %v", r, err)
	}
	w.Close()
	w.Want([]*runner.Policy{two})
	if _, err := w.judge(t, two, plainPod); err == nil {
		t.Error("a closed host judges")
	}
	if _, err := w.Try(t.Context(), two); err == nil || !strings.Contains(err.Error(), "not run any more") {
		t.Errorf("a closed host tries: %v", err)
	}
	w.Close()
}

func TestServers(t *testing.T) {
	w := newWorld(t, func(o *runner.Options) { o.Server = "mine" })
	mine, other := made(t, runner.Spec{Server: "mine"}), made(t, runner.Spec{Server: "other"})
	if _, err := w.load(t, mine, other); err != nil || w.store.times(mine.Module) != 1 {
		t.Errorf("%v, asked for %d times", err, w.store.times(mine.Module))
	}
	if w.Hosts(made(t, runner.Spec{})) || w.Hosts(other) || !w.Hosts(mine) {
		t.Error("it takes itself for another server")
	}
	all := newWorld(t, nil)
	if !all.Hosts(made(t, runner.Spec{})) || !all.Hosts(other) {
		t.Error("what no server judges is not judged here")
	}
	itself := newWorld(t, func(o *runner.Options) { o.Elsewhere = func(p *runner.Policy) bool { return p.Server == "mine" } })
	if !itself.Hosts(made(t, runner.Spec{})) || !itself.Hosts(other) || itself.Hosts(mine) {
		t.Error("what is judged elsewhere is judged here, or what is not is not")
	}
}

// TestMovesBetweenServers keeps a module loaded whose policy names another server: it
// is judged by here until it is there.
func TestMovesBetweenServers(t *testing.T) {
	w := newWorld(t, nil)
	before := made(t, runner.Spec{Name: "moves"})
	if _, err := w.load(t, before); err != nil {
		t.Fatal(err)
	}
	after := made(t, runner.Spec{Name: "moves", Server: "nowhere"})
	w.Want([]*runner.Policy{after})
	if _, err := w.Status(after); err != nil || w.store.times(after.Module) != 1 {
		t.Errorf("%v, asked for %d times", err, w.store.times(after.Module))
	}
}

func TestGrants(t *testing.T) {
	w := newWorld(t, nil)
	w.store.put("file:///reads.wasm", wasmtest.Annotated(t, wasmtest.WaPC(t), `{mutating: true, contextAware: [{version: v1, resource: namespaces}], contextAwareResources: [{apiVersion: v1, kind: Secret}]}`))
	namespaces := []contextgate.Grant{{Version: "v1", Resource: "namespaces"}}
	granted := made(t, runner.Spec{Name: "granted", Module: "file:///reads.wasm", Grants: namespaces, Settings: settings(`{"namespace":"shop"}`)})
	info, err := w.load(t, granted)
	if err != nil || len(info.Missing) != 1 || !strings.Contains(info.Missing[0], "secrets") || len(info.Notes) != 1 || !strings.Contains(info.Notes[0], "mutating") {
		t.Errorf("%+v, %v", info, err)
	}
	if r, err := w.judge(t, granted, plainPod); err != nil || r.Message != `{"kind":"Namespace"}` {
		t.Errorf("a read that was granted: %+v, %v", r, err)
	}
	without := made(t, runner.Spec{Name: "without", Settings: settings(`{"namespace":"shop"}`)})
	namespaced := made(t, runner.Spec{Kind: "AdmissionPolicy", Namespace: "shop", Settings: settings(`{"namespace":"shop"}`)})
	if err := w.Load(t.Context(), []*runner.Policy{granted, without, namespaced}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*runner.Policy{without, namespaced} {
		w.mu.Lock()
		w.denied = nil
		w.mu.Unlock()
		r, err := w.judge(t, p, plainPod)
		w.mu.Lock()
		denied := w.denied
		w.mu.Unlock()
		if err != nil || r.Accepted || !strings.HasPrefix(r.Message, "no context: ") || len(denied) != 1 || denied[0].Policy != p.String() {
			t.Errorf("%s: %+v, %v, told of %+v", p, r, err, denied)
		}
	}
}
