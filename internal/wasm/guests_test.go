package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestGuests runs the same policy in three languages and two protocols.
func TestGuests(t *testing.T) {
	guests := []struct {
		name   string
		kind   Kind
		module func(testing.TB) []byte
	}{
		{"waPC in Go", KindWaPC, waPCGuest},
		{"WASI in Go", KindWASI, wasiGuest},
		{"waPC in AssemblyScript", KindWaPC, assemblyScriptGuest},
	}
	e := newEngine(t, Limits{})
	for _, guest := range guests {
		t.Run(guest.name, func(t *testing.T) {
			m := compile(t, e, guest.module(t))
			if m.Kind() != guest.kind {
				t.Errorf("kind %s, want %s", m.Kind(), guest.kind)
			}
			if reused, why := m.Reused(); reused != (guest.kind == KindWaPC) {
				t.Errorf("reused %v, because %q", reused, why)
			}
			checkGuest(t, m)
		})
	}
}

func checkGuest(t *testing.T, m *Module) {
	ctx := context.Background()
	seen := &recorder{}
	var asked Call
	granted := m.Evaluator(EvaluatorOptions{Policy: "granted", Observer: seen, HostCall: func(_ context.Context, call Call) ([]byte, error) {
		asked = call
		if strings.Contains(string(call.Payload), "hidden") {
			return nil, errors.New("namespaces hidden are not granted")
		}
		return []byte(`{"kind":"Namespace"}`), nil
	}})
	denied := m.Evaluator(EvaluatorOptions{Policy: "denied"})

	if version, err := granted.ProtocolVersion(ctx); err != nil || version != "v1" {
		t.Errorf("protocol version %q, %v", version, err)
	}
	for settings, valid := range map[string]bool{``: true, `{"label":"fine"}`: true, `{"label":"forbidden"}`: false} {
		verdict, err := granted.ValidateSettings(ctx, json.RawMessage(settings))
		if err != nil || verdict.Valid != valid || !valid && verdict.Message != "the label must not be forbidden" {
			t.Errorf("settings %q: %+v, %v", settings, verdict, err)
		}
	}

	r, err := granted.Validate(ctx, pod, nil)
	if err != nil || !r.Accepted {
		t.Errorf("a pod: %+v, %v", r, err)
	}
	r, err = granted.Validate(ctx, hostNetworkPod, nil)
	if err != nil || r.Accepted || !strings.HasPrefix(r.Message, "host network is not allowed") {
		t.Errorf("a pod on the host's network: %+v, %v", r, err)
	}
	if len(seen.lines) != 1 || !strings.HasSuffix(seen.lines[0], ": a pod on the host's network") {
		t.Errorf("logged %q", seen.lines)
	}

	r, err = granted.Validate(ctx, pod, json.RawMessage(`{"label":"team"}`))
	if err != nil || !r.Accepted {
		t.Fatalf("a mutation: %+v, %v", r, err)
	}
	object := json.RawMessage(pod[strings.Index(string(pod), `"object":`)+len(`"object":`) : len(pod)-1])
	patch, err := r.Patch(object, true)
	if want := `[{"op":"add","path":"/metadata/labels","value":{"team":"set"}}]`; err != nil || string(patch) != want {
		t.Errorf("patch %s, %v, want %s", patch, err, want)
	}
	if _, err := r.Patch(object, false); !errors.Is(err, ErrMutates) {
		t.Errorf("a patch that is not allowed: %v", err)
	}

	r, err = granted.Validate(ctx, pod, json.RawMessage(`{"namespace":"shown"}`))
	if err != nil || !r.Accepted || r.Message != `{"kind":"Namespace"}` {
		t.Errorf("context: %+v, %v", r, err)
	}
	want := Call{"kubewarden", "kubernetes", "get_resource", []byte(`{"api_version":"v1","kind":"Namespace","name":"shown"}`)}
	if asked.String() != want.String() || string(asked.Payload) != string(want.Payload) {
		t.Errorf("asked %s %s", asked, asked.Payload)
	}
	r, err = granted.Validate(ctx, pod, json.RawMessage(`{"namespace":"hidden"}`))
	if err != nil || r.Accepted || r.Message != "no context: namespaces hidden are not granted" {
		t.Errorf("context that is refused: %+v, %v", r, err)
	}
	r, err = denied.Validate(ctx, pod, json.RawMessage(`{"namespace":"shown"}`))
	if err != nil || r.Accepted || r.Message != "no context: "+ErrDenied.Error() {
		t.Errorf("context without a grant: %+v, %v", r, err)
	}
}

func TestGoGuestsThatFail(t *testing.T) {
	e := newEngine(t, Limits{})
	ctx := context.Background()
	t.Run("a panic in Go", func(t *testing.T) {
		p := compile(t, e, waPCGuest(t)).Evaluator(EvaluatorOptions{Policy: "panics"})
		_, err := p.Validate(ctx, pod, json.RawMessage(`{"panic":true}`))
		var failed *Error
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), "panic") && !strings.Contains(err.Error(), "goroutine") && failed.Reason != ReasonExit {
			t.Errorf("got %v", err)
		}
		if r, err := p.Validate(ctx, pod, nil); err != nil || r.Message != "call 1" {
			t.Errorf("after a panic: %+v, %v", r, err)
		}
	})
	t.Run("an error", func(t *testing.T) {
		p := compile(t, e, waPCGuest(t)).Evaluator(EvaluatorOptions{})
		_, err := p.Validate(ctx, pod, json.RawMessage(`{"label":7}`))
		if failed := wantReason(t, err, ReasonGuest); !strings.Contains(failed.Error(), "cannot unmarshal number") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an exit", func(t *testing.T) {
		p := compile(t, e, wasiGuest(t)).Evaluator(EvaluatorOptions{})
		_, err := p.Validate(ctx, pod, json.RawMessage(`{"exit":3}`))
		if failed := wantReason(t, err, ReasonExit); !strings.Contains(failed.Error(), "exit code 3; it wrote: exits as asked") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("sleep", func(t *testing.T) {
		p := compile(t, e, wasiGuest(t)).Evaluator(EvaluatorOptions{Deadline: 300_000_000})
		_, err := p.Validate(ctx, pod, json.RawMessage(`{"sleep":3600}`))
		wantReason(t, err, ReasonDeadline)
	})
}
