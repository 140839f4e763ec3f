package wasm

import (
	"context"
	"testing"
	"time"
)

// BenchmarkCall compares an evaluation in a warm instance with the call of the
// same export, with the same payload, that wazero makes by itself: the same
// module and runtime, an instance that is used again and again as it is, and a
// context with a deadline. What is compared excludes making the payload and
// decoding the answer.
func BenchmarkCall(b *testing.B) {
	small := answering(accepts, nil)
	guests := []struct {
		name   string
		module func(testing.TB) []byte
		warm   *Warm
	}{
		{"go", waPCGuest, &Warm{}},
		{"go-cold", waPCGuest, nil},
		{"assemblyscript", assemblyScriptGuest, &Warm{}},
		{"assemblyscript-cold", assemblyScriptGuest, nil},
		{"tiny", func(testing.TB) []byte { return small.bytes() }, nil},
	}
	payload, err := validatePayload(pod, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, guest := range guests {
		b.Run(guest.name, func(b *testing.B) {
			module := guest.module(b)
			e := newEngine(b, Limits{})
			ctx := context.Background()
			m, err := e.Compile(ctx, module, CompileOptions{Name: "bench", Warm: guest.warm})
			if err != nil {
				b.Fatal(err)
			}
			if warmed, why := m.Warmed(); warmed != (guest.warm != nil) {
				b.Fatal(why)
			}
			p := m.Evaluator(EvaluatorOptions{}).(*evaluator)
			evaluate := func(b *testing.B) {
				if _, err := p.evaluate(ctx, operationValidate, payload, nil); err != nil {
					b.Fatal(err)
				}
			}
			// Until all instances are made.
			for range 4 * e.limits.Instances {
				evaluate(b)
			}
			i, err := m.calls.take(ctx)
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close(ctx)
			defer m.calls.give(i, true)
			bare := func(b *testing.B) {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				state := &evaluation{policy: p, limits: &p.limits, operation: operationValidate, payload: payload}
				state.ctx = context.WithValue(ctx, evaluationKey{}, state)
				if _, err := i.entry.Call(state.ctx, uint64(len(operationValidate)), uint64(len(payload))); err != nil {
					b.Fatal(err)
				}
			}
			b.Run("wazero", func(b *testing.B) {
				for b.Loop() {
					bare(b)
				}
			})
			b.Run("evaluate", func(b *testing.B) {
				for b.Loop() {
					evaluate(b)
				}
			})
			b.Run("ratio", func(b *testing.B) {
				// One after the other, so that both meet the same machine.
				var plain, ours time.Duration
				for b.Loop() {
					began := time.Now()
					bare(b)
					between := time.Now()
					evaluate(b)
					plain, ours = plain+between.Sub(began), ours+time.Since(between)
				}
				b.ReportMetric(float64(ours)/float64(plain), "x/wazero")
			})
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	e := newEngine(b, Limits{})
	for name, module := range map[string][]byte{"wapc": waPCGuest(b), "wasi": wasiGuest(b)} {
		b.Run(name, func(b *testing.B) {
			p := compile(b, e, module).Evaluator(EvaluatorOptions{})
			for b.Loop() {
				if _, err := p.Validate(context.Background(), pod, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
