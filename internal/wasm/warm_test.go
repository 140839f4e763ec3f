package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestWarm(t *testing.T) {
	asks := answering(`"v1"`, code(i32(0), i32(1), i32(0), i32(1), i32(0), i32(1), i32(0), i32(0), call(0), 0x1a), "__host_call")
	sticky := leaks()["a table"]
	tests := []struct {
		name   string
		module []byte
		warm   *Warm
		why    string
	}{
		{"Go", waPCGuest(t), &Warm{Settings: json.RawMessage(`{"label":"team"}`)}, ""},
		{"not asked for", waPCGuest(t), nil, "it was not asked for"},
		{"a host call", waPCGuest(t), &Warm{Settings: json.RawMessage(`{"namespace":"shown"}`)}, "it asks its host for something"},
		{"a host call at once", asks.bytes(), &Warm{}, "it asks its host for something"},
		{"a panic", waPCGuest(t), &Warm{Settings: json.RawMessage(`{"panic":true}`)}, "the module"},
		{"an error", waPCGuest(t), &Warm{Settings: json.RawMessage(`{"label":1}`)}, "cannot unmarshal"},
		{"a loop", waPC(code(loop(), i32(1))).bytes(), &Warm{}, "did not end in its time"},
		{"settings that are not an object", waPCGuest(t), &Warm{Settings: json.RawMessage(`[]`)}, "not a JSON object"},
		{"a module that is not reused", sticky.bytes(), &Warm{}, "its instances are not used again: it changes tables"},
		{"a WASI command", wasiGuest(t), &Warm{}, "which ends with its call"},
	}
	e := newEngine(t, Limits{Deadline: 500_000_000, Instances: 2})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := e.Compile(context.Background(), test.module, CompileOptions{Name: "warm", Warm: test.warm})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close(context.Background())
			if warmed, why := m.Warmed(); warmed != (test.why == "") || !strings.Contains(why, test.why) {
				t.Errorf("warmed %v, %q, want %q", warmed, why, test.why)
			}
		})
	}
}

// TestWarmedStaysTheSame has all evaluations begin after the calls that warmed.
func TestWarmedStaysTheSame(t *testing.T) {
	e := newEngine(t, Limits{})
	ctx := context.Background()
	settings := json.RawMessage(`{"label":""}`)
	m, err := e.Compile(ctx, waPCGuest(t), CompileOptions{Name: "warm", Instances: 2, Warm: &Warm{Settings: settings}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(ctx)
	p := m.Evaluator(EvaluatorOptions{})
	for range 5 {
		if r, err := p.Validate(ctx, pod, settings); err != nil || r.Message != "call 4" {
			t.Errorf("got %+v, %v", r, err)
		}
	}
	_, err = p.Validate(ctx, pod, json.RawMessage(`{"label":"other"}`))
	if wantReason(t, err, ReasonInput); !errors.Is(err, errWarmSettings) {
		t.Errorf("other settings: %v", err)
	}
	if _, err := p.ValidateSettings(ctx, nil); !errors.Is(err, errWarmSettings) {
		t.Errorf("other settings to validate: %v", err)
	}
}
