package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// rego is a module that speaks the interface of the Open Policy Agent, written out
// in bytes. Its functions are those of bodies, and simple ones where it has none.
// Texts stand at the addresses that at returns, each with a zero behind it.
type rego struct {
	bodies  map[string][]byte
	texts   []string
	globals int
	leave   string // a function that is not exported
	version []string
}

// The texts that every module has, the address of a text, and the functions that
// are imported, by their numbers.
const (
	textEntrypoints = iota
	textBuiltins
	textAnswer
	textMore

	callAbort = iota - 4
	callPrintln
	callBuiltin0
	callBuiltin1
	regoImports

	regoHeap = 16 << 10
)

func (r rego) at(n int) int32 {
	at := dataAt
	for _, text := range r.all()[:n] {
		at += len(text) + 1
	}
	return int32(at)
}

func (r rego) all() []string {
	return append([]string{`{"policy/main":0}`, `{"json.marshal":0,"time.now_ns":7}`, acceptsOPA}, r.texts...)
}

const acceptsOPA = `[{"result":{"response":{"allowed":true}}}]`

func (r rego) bytes() []byte {
	version := r.version
	if version == nil {
		version = []string{"opa_wasm_abi_version", "opa_wasm_abi_minor_version"}
	}
	argument := code(0x20, 0)
	a := assembly{
		imports: []string{"env.opa_abort", "env.opa_println", "env.opa_builtin0", "env.opa_builtin1"},
		globals: r.globals, constant: version, pages: 2, data: strings.Join(r.all(), "\x00") + "\x00",
	}
	for _, f := range []function{
		{export: "opa_malloc", parameters: 1, results: 1, body: i32(8192)},
		{export: "opa_json_parse", parameters: 2, results: 1, body: i32(1)},
		{export: "opa_json_dump", parameters: 1, results: 1, body: argument},
		{export: "opa_value_dump", parameters: 1, results: 1, body: argument},
		{export: "opa_value_parse", parameters: 2, results: 1, body: i32(1)},
		{export: "opa_heap_ptr_get", results: 1, body: i32(regoHeap)},
		{export: "opa_heap_ptr_set", parameters: 1},
		{export: "entrypoints", results: 1, body: i32(r.at(textEntrypoints))},
		{export: "builtins", results: 1, body: i32(r.at(textBuiltins))},
		// Version 1.1 evaluates in steps; the constants that say the version are 1.
		{export: "opa_eval_ctx_new", results: 1, body: i32(64)},
		{export: "opa_eval_ctx_set_input", parameters: 2},
		{export: "opa_eval_ctx_set_data", parameters: 2},
		{export: "opa_eval_ctx_set_entrypoint", parameters: 2},
		{export: "eval", parameters: 1, results: 1, body: i32(0)},
		{export: "opa_eval_ctx_get_result", parameters: 1, results: 1, body: i32(r.at(textAnswer))},
	} {
		if body, ok := r.bodies[f.export]; ok {
			f.body = body
		}
		if f.export == r.leave {
			f.export = ""
		}
		a.function = append(a.function, f)
	}
	return a.bytes()
}

// with is a module whose function of that name is body.
func with(name string, body []byte, texts ...string) rego {
	return rego{bodies: map[string][]byte{name: body}, texts: texts}
}

func TestHostileRego(t *testing.T) {
	text := rego{}.at(textMore)
	drop := code(0x1a)
	fill := code(i32(regoHeap), i32('a'), i32(2<<16-regoHeap), 0xfc, 11, 0, i32(regoHeap))
	ask := func(number int32) []byte { return code(i32(number), i32(0), i32(text), call(callBuiltin1)) }
	tests := []struct {
		name   string
		module rego
		want   Reason
		text   string
	}{
		{"an endless loop", with("eval", code(loop(), i32(0))), ReasonDeadline, "did not end in its time"},
		{"an endless loop over its data", with("opa_json_parse", code(loop(), i32(1))), ReasonDeadline, "did not end in its time"},
		{"an endless loop over memory", with("opa_malloc", code(loop(), i32(1))), ReasonDeadline, "did not end in its time"},
		{"memory without end", with("eval", code(loop(i32(1), 0x40, 0, 0x1a), i32(0))), ReasonDeadline, "did not end in its time"},
		{"a crash", with("eval", code(0x00)), ReasonTrap, "unreachable"},
		{"giving up", with("eval", code(i32(text), call(callAbort), i32(0)), "var assignment conflict"), ReasonGuest, "the module gave up: var assignment conflict"},
		{"giving up over data", with("opa_json_parse", code(i32(text), call(callAbort), i32(0)), "illegal utf-8"), ReasonGuest, "the module gave up: illegal utf-8"},
		{"giving up with a wrong pointer", with("eval", code(i32(-4), call(callAbort), i32(0))), ReasonTrap, "the address 4294967292, which is not in its memory"},
		{"an answer outside of memory", with("opa_eval_ctx_get_result", i32(-4)), ReasonTrap, "is not in its memory"},
		{"an answer without an end", with("opa_eval_ctx_get_result", fill), ReasonLimit, "more than the 65536 bytes"},
		{"memory that is not there", with("opa_malloc", i32(-64)), ReasonTrap, "which is not all in its memory"},
		{"data that it cannot read", with("opa_json_parse", i32(0)), ReasonTrap, "cannot read its data"},
		{"a line without an end", with("eval", code(fill, call(callPrintln), i32(0))), ReasonLimit, "a line to log more than"},
		{"a builtin that it did not list", with("eval", code(ask(3), drop, i32(0)), `1`), ReasonTrap, "calls the builtin function 3, which it did not list"},
		{"a builtin with too few arguments", with("eval", code(i32(0), i32(0), call(callBuiltin0), drop, i32(0))), ReasonLimit, "takes 1 arguments and got 0"},
		{"a builtin within a builtin", rego{bodies: map[string][]byte{"eval": code(ask(0), drop, i32(0)), "opa_value_dump": code(ask(0))}}, ReasonTrap, "from within another one"},
		{"a call for an argument", with("eval", code(ask(0), drop, i32(0)), `http.send({})`), ReasonLimit, "argument 1 of the builtin function json.marshal cannot be read"},
		{"an argument outside of memory", with("eval", code(i32(0), i32(0), i32(-4), call(callBuiltin1), drop, i32(0))), ReasonTrap, "an argument of the builtin function json.marshal"},
		{"an answer of a builtin that it cannot read", rego{bodies: map[string][]byte{"eval": code(ask(0), drop, i32(0)), "opa_value_parse": i32(0)}, texts: []string{`1`}}, ReasonTrap, "cannot read the answer of a builtin function"},
		{"builtins without end", with("eval", code(loop(ask(0), drop), i32(0)), `[1]`), ReasonDeadline, "deadline exceeded"},
		{"an endless loop over an argument", rego{bodies: map[string][]byte{"eval": code(ask(0), drop, i32(0)), "opa_value_dump": code(loop(), i32(0))}}, ReasonDeadline, "did not end in its time"},
		{"a function that calls itself", with("eval", code(i32(0), call(regoImports+13))), "", ""}, // its stack or its time ends first
		{"no JSON", with("opa_eval_ctx_get_result", i32(text), `[{`), ReasonAnswer, "makes no sense"},
	}
	limits := Limits{Deadline: time.Second / 2, MemoryPages: 256, ResponseBytes: 1 << 16, HostCallBytes: 1 << 16, Instances: 1}
	e := newEngine(t, limits)
	honest := compileRego(t, e, rego{}.bytes(), ModeOPA).Evaluator(EvaluatorOptions{Policy: "honest"})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := &recorder{}
			p := compileRego(t, e, test.module.bytes(), ModeOPA).Evaluator(EvaluatorOptions{Policy: "hostile", Observer: seen, Data: &contextData{data: `{}`}})
			for range 2 {
				began := time.Now()
				_, err := p.Validate(t.Context(), pod, nil)
				if test.want == "" && err != nil {
					continue
				}
				failed := wantReason(t, err, test.want)
				if !strings.Contains(failed.Error(), test.text) || !strings.HasPrefix(failed.Error(), "policy ") {
					t.Errorf("got %q, want it to say %q", failed, test.text)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("took %v", took)
				}
			}
			if r, err := honest.Validate(t.Context(), pod, nil); err != nil || !r.Accepted {
				t.Errorf("another policy afterwards: %+v, %v", r, err)
			}
		})
	}
}

func TestRegoThatIsRefused(t *testing.T) {
	e := newEngine(t, Limits{Deadline: time.Second / 2})
	text := rego{}.at(textMore)
	for name, test := range map[string]struct {
		module rego
		want   string
	}{
		"no version":            {rego{version: []string{"opa_wasm_abi_version"}}, "does not say which version"},
		"no malloc":             {rego{leave: "opa_malloc"}, "does not export the function opa_malloc"},
		"no evaluation":         {rego{leave: "eval"}, "does not export the function eval"},
		"entrypoints no JSON":   {with("entrypoints", i32(text), `[`), "its list of entrypoints makes no sense"},
		"entrypoints elsewhere": {with("entrypoints", i32(-1)), "is not in its memory"},
		"entrypoints forever":   {with("entrypoints", code(loop(), i32(0))), "did not end in its time"},
		"no entrypoints":        {with("entrypoints", i32(text), `{}`), "it has no entrypoint"},
		"entrypoints by chance": {with("entrypoints", i32(text), `{"a":7}`), "its entrypoint a has the number 7"},
		"entrypoints twice":     {with("entrypoints", i32(text), `{"a":1,"b":1}`), "has the number 1"},
		"builtins twice":        {with("builtins", i32(text), `{"sprintf":1,"trace":1}`), "two of its builtin functions have the number 1"},
		"a builtin of nobody":   {with("builtins", i32(text), `{"launch":1}`), `the builtin function "launch" is none of Rego`},
		"builtins while asked":  {with("builtins", code(i32(0), i32(0), call(callBuiltin0))), "which it did not list"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.Compile(t.Context(), test.module.bytes(), CompileOptions{Name: "bad", Mode: ModeOPA})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "the module bad cannot be used") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNothingIsLeftOfRego has modules that count their evaluations.
func TestNothingIsLeftOfRego(t *testing.T) {
	answer := `[{"result":{"response":{"allowed":true,"status":{"code":0}}}}]`
	digit := rego{}.at(textMore) + int32(strings.Index(answer, ":0}")) + 1
	say := i32(rego{}.at(textMore))
	for name, module := range map[string]rego{
		"memory": with("opa_eval_ctx_get_result", code(i32(digit), i32(digit), 0x2d, 0, 0, i32(1), 0x6a, 0x3a, 0, 0, say), answer),
		"a global": {globals: 1, texts: []string{answer}, bodies: map[string][]byte{"opa_eval_ctx_get_result": code(
			0x23, 0, i32(1), 0x6a, 0x24, 0, i32(digit), 0x23, 0, i32('0'), 0x6a, 0x3a, 0, 0, say)}},
		"the size of memory": with("opa_eval_ctx_get_result", code(i32(digit), 0x3f, 0, i32('0'-7), 0x6a, 0x3a, 0, 0, i32(1), 0x40, 0, 0x1a, say), answer),
	} {
		t.Run(name, func(t *testing.T) {
			m := compileRego(t, newEngine(t, Limits{Instances: 1}), module.bytes(), ModeOPA)
			first, second := m.Evaluator(EvaluatorOptions{Policy: "first"}), m.Evaluator(EvaluatorOptions{Policy: "second"})
			for range 3 {
				for _, p := range []Evaluator{first, second} {
					if r, err := p.Validate(context.Background(), pod, nil); err != nil || r.Code != 1 {
						t.Fatalf("got the code %d, %v: something is left", r.Code, err)
					}
				}
			}
		})
	}
}

func TestRegoDataThatBlocks(t *testing.T) {
	e := newEngine(t, Limits{Deadline: time.Second / 4})
	m := compileRego(t, e, rego{}.bytes(), ModeOPA)
	for name, data := range map[string]ContextData{"blocks": blocks{}, "panics": dataFunc(func() (string, string) { panic("oh") })} {
		t.Run(name, func(t *testing.T) {
			p := m.Evaluator(EvaluatorOptions{Policy: "rego", Data: data})
			for range mostAbandoned/16 + 1 {
				if _, err := p.Validate(t.Context(), pod, nil); err == nil {
					t.Error("it came to an answer")
				}
			}
		})
	}
}

// blocks is a ContextData that does not heed its context.
type blocks struct{}

func (blocks) Data(context.Context) (json.RawMessage, string, error) { select {} }

func FuzzDecodeRego(f *testing.F) {
	for _, answer := range []string{acceptsOPA, `[{"result":[{"msg":"a"},{"msg":null}]}]`, `[]`,
		`[{"result":{"response":{"allowed":true,"patchType":"JSONPatch","patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL2EiLCJ2YWx1ZSI6MX1d"}}}]`} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		for _, mode := range []RegoMode{ModeOPA, ModeGatekeeper} {
			r, err := decodeRego(mode, "policy/main", answer, []byte(`{"object":{"a":[1]}}`))
			if err != nil && (r.Accepted || r.MutatedObject != nil) {
				t.Errorf("an error with a verdict: %+v", r)
			}
			if _, err := r.Patch([]byte(`{"a":[1]}`), true); err != nil {
				t.Errorf("%s: its own object cannot be read: %v", fmt.Sprint(mode), err)
			}
		}
	})
}
