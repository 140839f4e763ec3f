package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/wasm/regoguest"
)

func regoGuest(t testing.TB, mode RegoMode) []byte {
	t.Helper()
	entrypoint := map[RegoMode]string{ModeOPA: "policy/main", ModeGatekeeper: "policy/violation"}[mode]
	module, err := regoguest.CompileFile(t.Context(), filepath.Join("testdata", "guests", "rego", string(mode)+".rego"), entrypoint)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func regoModule(t testing.TB, source, entrypoint string) []byte {
	t.Helper()
	module, err := regoguest.Compile(t.Context(), source, entrypoint)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func compileRego(t testing.TB, e *Engine, module []byte, mode RegoMode) *Module {
	t.Helper()
	m, err := e.Compile(context.Background(), module, CompileOptions{Name: "test", Mode: mode})
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

// contextData is a ContextData that a test changes.
type contextData struct {
	mu      sync.Mutex
	data    string
	version int
	err     error
	asked   int
}

func (c *contextData) set(data string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data, c.err = data, err
	c.version++
}

func (c *contextData) Data(context.Context) (json.RawMessage, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return json.RawMessage(c.data), fmt.Sprint(c.version), c.err
}

const (
	shownToOPA        = `{"namespaces":{"shown":{"metadata":{"labels":{"team":"a"}}}}}`
	shownToGatekeeper = `{"cluster":{"v1":{"Namespace":{"shown":{}}}},"namespace":{"shop":{"networking.k8s.io/v1":{"Ingress":{"web":{"spec":{"host":"example.org"}}}}}}}`
)

func TestRego(t *testing.T) {
	type test struct {
		name     string
		request  json.RawMessage
		settings string
		data     string
		want     Response
		patch    string
	}
	refused := func(message string) Response { return Response{Message: message} }
	modes := map[RegoMode][]test{
		ModeOPA: {
			{name: "accepts", request: pod, want: Response{Accepted: true}},
			{name: "refuses", request: hostNetworkPod, want: refused("host network is not allowed")},
			{name: "changes", request: pod, settings: `{"label":"team"}`, want: Response{Accepted: true}, patch: `[{"op":"add","path":"/metadata/labels","value":{"team":"set"}}]`},
			{name: "reads context", request: pod, settings: `{"namespace":"shown"}`, data: shownToOPA, want: Response{Accepted: true, Message: "namespace shown has the team a"}},
			{name: "reads what is not there", request: pod, settings: `{"namespace":"other"}`, data: shownToOPA, want: refused("no context: namespace other is not known")},
			{name: "has no context", request: pod, settings: `{"namespace":"shown"}`, want: refused("no context: namespace shown is not known")},
			{name: "has empty context", request: pod, settings: `{"namespace":"shown"}`, data: `{}`, want: refused("no context: namespace shown is not known")},
		},
		ModeGatekeeper: {
			{name: "accepts", request: pod, want: Response{Accepted: true}},
			{name: "refuses", request: hostNetworkPod, want: refused("host network is not allowed")},
			{name: "reads settings", request: pod, settings: `{"label":"team"}`, want: refused("the label team is missing")},
			{name: "reads context", request: pod, settings: `{"namespace":"shown"}`, data: shownToGatekeeper, want: Response{Accepted: true}},
			{name: "reads context of namespaces", request: pod, settings: `{"host":"example.org"}`, data: shownToGatekeeper, want: refused("web has the host example.org already")},
			{name: "has no context", request: hostNetworkPod, settings: `{"namespace":"shown"}`, want: refused("host network is not allowed, no context: namespace shown is not known")},
		},
	}
	e := newEngine(t, Limits{})
	for mode, tests := range modes {
		m := compileRego(t, e, regoGuest(t, mode), mode)
		if reused, why := m.Reused(); !reused {
			t.Errorf("%s: instances are not used again: %s", mode, why)
		}
		for _, test := range tests {
			t.Run(string(mode)+" "+test.name, func(t *testing.T) {
				seen := &recorder{}
				options := EvaluatorOptions{Policy: "rego", Observer: seen}
				if test.data != "" {
					options.Data = &contextData{data: test.data}
				}
				p := m.Evaluator(options)
				defer CloseEvaluator(p)
				for range 3 {
					r, err := p.Validate(t.Context(), test.request, json.RawMessage(test.settings))
					if err != nil {
						t.Fatal(err)
					}
					object := test.request[strings.Index(string(test.request), `"object":`)+len(`"object":`) : len(test.request)-1]
					patch, err := r.Patch(json.RawMessage(object), true)
					if err != nil || string(patch) != test.patch {
						t.Errorf("patch %s, %v, want %s", patch, err, test.patch)
					}
					r.MutatedObject = nil
					if diff := cmp.Diff(test.want, r); diff != "" {
						t.Error(diff)
					}
				}
				if test.name == "refuses" && (len(seen.lines) != 3 || seen.lines[0] != "console: a pod on the host's network") {
					t.Errorf("logged %q", seen.lines)
				}
			})
		}
	}
}

func TestRegoSettings(t *testing.T) {
	e := newEngine(t, Limits{})
	opa := compileRego(t, e, regoGuest(t, ModeOPA), ModeOPA).Evaluator(EvaluatorOptions{})
	gatekeeper := compileRego(t, e, regoGuest(t, ModeGatekeeper), ModeGatekeeper).Evaluator(EvaluatorOptions{})
	if version, err := opa.ProtocolVersion(t.Context()); err != nil || version != ProtocolV1 {
		t.Errorf("version %s, %v", version, err)
	}
	faked := json.RawMessage(`{"kubernetes":{"namespaces":{"shown":{}}}}`)
	for name, p := range map[string]Evaluator{"opa": opa, "gatekeeper": gatekeeper} {
		for settings, valid := range map[string]bool{`{}`: true, `{"a":1}`: true, string(faked): name == "gatekeeper"} {
			r, err := p.ValidateSettings(t.Context(), json.RawMessage(settings))
			if err != nil || r.Valid != valid {
				t.Errorf("%s: %s: %+v, %v", name, settings, r, err)
			}
		}
		if _, err := p.ValidateSettings(t.Context(), json.RawMessage(`[1]`)); err == nil {
			t.Errorf("%s takes a list", name)
		}
	}
	_, err := opa.Validate(t.Context(), pod, faked)
	if failed := wantReason(t, err, ReasonInput); !strings.Contains(failed.Error(), `have a field "kubernetes"`) {
		t.Errorf("got %v", err)
	}
}

// TestRegoData: data are read into a module once a version, and what changes is
// seen by the next evaluation.
func TestRegoData(t *testing.T) {
	e := newEngine(t, Limits{})
	seen := &recorder{}
	m, err := e.Compile(t.Context(), regoGuest(t, ModeOPA), CompileOptions{Name: "test", Mode: ModeOPA, Observer: seen})
	if err != nil {
		t.Fatal(err)
	}
	data := &contextData{}
	p := m.Evaluator(EvaluatorOptions{Policy: "rego", Data: data})
	for version := range 3 {
		data.set(fmt.Sprintf(`{"namespaces":{"shown":{"metadata":{"labels":{"team":"t%d"}}}}}`, version), nil)
		for range 5 {
			r, err := p.Validate(t.Context(), pod, json.RawMessage(`{"namespace":"shown"}`))
			if want := fmt.Sprintf("namespace shown has the team t%d", version); err != nil || r.Message != want {
				t.Fatalf("got %+v, %v, want %s", r, err, want)
			}
		}
	}
	if data.asked != 15 {
		t.Errorf("asked %d times, want once an evaluation", data.asked)
	}
	data.set(``, errors.New("namespaces are not granted"))
	_, err = p.Validate(t.Context(), pod, nil)
	if failed := wantReason(t, err, ReasonContext); !strings.Contains(failed.Error(), "could not be read: namespaces are not granted") {
		t.Errorf("got %v", err)
	}
	for _, bad := range []string{``, `[]`, `{"a":`} {
		data.set(bad, nil)
		if r, err := p.Validate(t.Context(), pod, nil); err == nil {
			t.Errorf("with the data %q: %+v", bad, r)
		}
	}
	data.set(`{}`, nil)
	if r, err := p.Validate(t.Context(), pod, nil); err != nil || !r.Accepted {
		t.Errorf("afterwards: %+v, %v", r, err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = p.Validate(t.Context(), pod, nil)
	wantReason(t, err, ReasonHost)
	_, err = m.Evaluator(EvaluatorOptions{}).Validate(t.Context(), pod, nil)
	wantReason(t, err, ReasonHost)
}

// TestRegoAtOnce has evaluations of many versions at the same time: none sees data
// older than when it began.
func TestRegoAtOnce(t *testing.T) {
	e := newEngine(t, Limits{Deadline: 20e9})
	m := compileRego(t, e, regoGuest(t, ModeOPA), ModeOPA)
	var version atomic.Int64
	p := m.Evaluator(EvaluatorOptions{Data: dataFunc(func() (string, string) {
		v := version.Load()
		return fmt.Sprintf(`{"namespaces":{"shown":{"metadata":{"labels":{"team":"%d"}}}}}`, v), fmt.Sprint(v)
	})})
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for range 40 {
				before := version.Load()
				if worker == 0 {
					before = version.Add(1)
				}
				r, err := p.Validate(t.Context(), pod, json.RawMessage(`{"namespace":"shown"}`))
				var team int64
				if _, scanErr := fmt.Sscanf(r.Message, "namespace shown has the team %d", &team); err != nil || scanErr != nil || team < before {
					t.Errorf("got %+v, %v at version %d", r, err, before)
				}
			}
		})
	}
	group.Wait()
}

type dataFunc func() (string, string)

func (f dataFunc) Data(context.Context) (json.RawMessage, string, error) {
	data, version := f()
	return json.RawMessage(data), version, nil
}

func TestRegoModes(t *testing.T) {
	e := newEngine(t, Limits{})
	rego := regoGuest(t, ModeOPA)
	network := regoModule(t, `package policy
main := http.send({"method": "get", "url": input.url})`, "policy/main")
	for name, test := range map[string]struct {
		module []byte
		mode   RegoMode
		want   string
	}{
		"Rego without a mode":  {rego, "", "has to give the executionMode opa or gatekeeper"},
		"Rego as waPC":         {rego, "kubewarden-wapc", "has to give the executionMode"},
		"waPC as Rego":         {answering(accepts, nil).bytes(), ModeOPA, "was not compiled from Rego"},
		"a builtin we lack":    {network, ModeOPA, "the builtin function http.send is closed to policies: it reaches the network"},
		"half a module":        {rego[:len(rego)/2], ModeOPA, "cut off"},
		"imports of something": {assembly{imports: []string{"env.opa_abort", "wapc.__console_log"}, function: []function{{export: exportRegoEval, parameters: 7, results: 1, body: i32(0)}}}.bytes(), ModeOPA, "imports what is not given to a rego module: wapc.__console_log"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.Compile(t.Context(), test.module, CompileOptions{Name: "test", Mode: test.mode})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	info, err := e.InspectRego(t.Context(), network)
	if err != nil {
		t.Fatal(err)
	}
	want := RegoInfo{ABI: "1.3", Entrypoints: []string{"policy/main"}, Builtins: []string{"http.send"}, Missing: []string{"the builtin function http.send is closed to policies: it reaches the network"}}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Error(diff)
	}
	if _, err := e.InspectRego(t.Context(), answering(accepts, nil).bytes()); err == nil {
		t.Error("a waPC module was taken for Rego")
	}
}
