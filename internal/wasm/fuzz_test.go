package wasm

import (
	"context"
	"testing"
	"time"
)

func FuzzDecodeResponse(f *testing.F) {
	f.Add([]byte(`{"accepted":false,"message":"no","code":403,"mutated_object":{"a":1},"audit_annotations":{"k":"v"},"warnings":["w"]}`))
	f.Add([]byte(`{"accepted":true,"mutated_object":null}`))
	f.Add([]byte(`{"valid":true}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		r, err := DecodeResponse(answer)
		if err != nil && (r.Accepted || r.MutatedObject != nil) {
			t.Errorf("an error with a verdict: %+v", r)
		}
		if _, err := r.Patch([]byte(`{"a":0}`), true); err != nil && r.MutatedObject == nil {
			t.Errorf("no object, and %v", err)
		}
		_, _ = DecodeSettingsResponse(answer)
	})
}

// FuzzDetect holds the reading of modules to what the compiler takes: whatever
// it validates with our globals exported is what it validates without.
func FuzzDetect(f *testing.F) {
	ctx := context.Background()
	e, err := NewEngine(ctx, Config{Limits: Limits{MemoryPages: 16, ModuleBytes: 1 << 16, Deadline: 50 * time.Millisecond, Instances: 1}})
	if err != nil {
		f.Fatal(err)
	}
	for _, module := range leaks() {
		f.Add(module.bytes())
	}
	f.Add(recursion().bytes())
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x02\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, module []byte) {
		kind, err := Detect(module)
		if (kind == KindUnknown) != (err != nil) {
			t.Fatalf("kind %s with %v", kind, err)
		}
		if kind != KindWaPC {
			return
		}
		o, err := readOutline(module)
		if err != nil {
			t.Fatal(err)
		}
		exposed, _, reason := o.expose(module)
		if reason != "" {
			return
		}
		plain, plainErr := e.compileModule(ctx, module)
		ours, oursErr := e.compileModule(ctx, exposed)
		if (plainErr == nil) != (oursErr == nil) {
			t.Fatalf("it was %v and came to %v", plainErr, oursErr)
		}
		for _, compiled := range []interface{ Close(context.Context) error }{plain, ours} {
			if plainErr == nil {
				_ = compiled.Close(ctx)
			}
		}
		m, err := e.Compile(ctx, module, CompileOptions{})
		if err != nil {
			return
		}
		_, _ = m.Evaluator(EvaluatorOptions{}).Validate(ctx, pod, nil)
		_ = m.Close(ctx)
	})
}
