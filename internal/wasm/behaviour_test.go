package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// behaving is a test policy, and how what all of them do is asked of it.
type behaving struct {
	module func(testing.TB) []byte
	mode   RegoMode
	// data are what it reads, where it does not call its host.
	data string
	// cannot is why it cannot change an object.
	cannot string
}

var errNotGranted = errors.New("namespaces are not granted")

// evaluator gives it what it reads, or denies it that.
func (b behaving) evaluator(t *testing.T, e *Engine, granted bool) Evaluator {
	t.Helper()
	m, err := e.Compile(t.Context(), b.module(t), CompileOptions{Name: "guest", Mode: b.mode})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	options := EvaluatorOptions{Policy: "guest"}
	switch {
	case b.mode != "" && granted:
		options.Data = &contextData{data: b.data}
	case b.mode != "":
		options.Data = &contextData{err: errNotGranted}
	default:
		options.HostCall = func(context.Context, Call) ([]byte, error) {
			if !granted {
				return nil, errNotGranted
			}
			return []byte(`{"kind":"Namespace"}`), nil
		}
	}
	return m.Evaluator(options)
}

// TestBehaviours has each of the test policies do each of what policies do.
func TestBehaviours(t *testing.T) {
	guests := map[string]behaving{
		"waPC in Go":             {module: waPCGuest},
		"WASI in Go":             {module: wasiGuest},
		"waPC in AssemblyScript": {module: assemblyScriptGuest},
		"Rego, opa":              {module: func(t testing.TB) []byte { return regoGuest(t, ModeOPA) }, mode: ModeOPA, data: shownToOPA},
		"Rego, gatekeeper": {
			module: func(t testing.TB) []byte { return regoGuest(t, ModeGatekeeper) }, mode: ModeGatekeeper, data: shownToGatekeeper,
			cannot: "its answer is a list of violations, in which there is no place for a change",
		},
	}
	object := json.RawMessage(pod[strings.Index(string(pod), `"object":`)+len(`"object":`) : len(pod)-1])
	reads, labels := json.RawMessage(`{"namespace":"shown"}`), json.RawMessage(`{"label":"team"}`)
	behaviours := map[string]func(*testing.T, *Engine, behaving){
		"validates": func(t *testing.T, e *Engine, b behaving) {
			p := b.evaluator(t, e, true)
			if r, err := p.Validate(t.Context(), pod, nil); err != nil || !r.Accepted {
				t.Errorf("a pod: %+v, %v", r, err)
			}
			if r, err := p.Validate(t.Context(), hostNetworkPod, nil); err != nil || r.Accepted || !strings.Contains(r.Message, "host network is not allowed") {
				t.Errorf("a pod on the host's network: %+v, %v", r, err)
			}
		},
		"mutates": func(t *testing.T, e *Engine, b behaving) {
			r, err := b.evaluator(t, e, true).Validate(t.Context(), pod, labels)
			if err != nil {
				t.Fatal(err)
			}
			patch, err := r.Patch(object, true)
			want := `[{"op":"add","path":"/metadata/labels","value":{"team":"set"}}]`
			if b.cannot != "" {
				want = ""
			}
			if err != nil || string(patch) != want || r.Accepted != (b.cannot == "") {
				t.Errorf("%+v, patch %s, %v", r, patch, err)
			}
			if _, err := r.Patch(object, false); b.cannot == "" && !errors.Is(err, ErrMutates) {
				t.Errorf("a patch that is not allowed: %v", err)
			}
		},
		"reads context": func(t *testing.T, e *Engine, b behaving) {
			if r, err := b.evaluator(t, e, true).Validate(t.Context(), pod, reads); err != nil || !r.Accepted {
				t.Errorf("%+v, %v", r, err)
			}
		},
		"is denied context": func(t *testing.T, e *Engine, b behaving) {
			r, err := b.evaluator(t, e, false).Validate(t.Context(), pod, reads)
			if b.mode != "" {
				// Rego cannot tell what it was denied from what is not there.
				if !errors.Is(err, errNotGranted) || r.Accepted {
					t.Errorf("%+v, %v", r, err)
				}
				return
			}
			if err != nil || r.Accepted || r.Message != "no context: "+errNotGranted.Error() {
				t.Errorf("%+v, %v", r, err)
			}
		},
	}
	e := newEngine(t, Limits{})
	for name, guest := range guests {
		for behaviour, check := range behaviours {
			t.Run(name+" "+behaviour, func(t *testing.T) { check(t, e, guest) })
		}
	}
}
