package wasm

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"
)

// namespaces are the data of a policy that reads n namespaces.
func namespaces(n int) string {
	var b bytes.Buffer
	b.WriteString(`{"namespaces":{"shown":{"metadata":{"labels":{"team":"a"}}}`)
	for i := range n {
		fmt.Fprintf(&b, `,"ns-%d":{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ns-%d","labels":{"team":"t%d","kubernetes.io/metadata.name":"ns-%d"}}}`, i, i, i%7, i)
	}
	b.WriteString(`}}`)
	return b.String()
}

// BenchmarkRego compares an evaluation with the call of opa_eval by itself, in an
// instance that is used as the one before left it.
func BenchmarkRego(b *testing.B) {
	settings := []byte(`{"namespace":"shown"}`)
	for _, n := range []int{0, 3000} {
		b.Run(fmt.Sprintf("namespaces-%d", n), func(b *testing.B) {
			e := newEngine(b, Limits{})
			m := compileRego(b, e, regoGuest(b, ModeOPA), ModeOPA)
			p := m.Evaluator(EvaluatorOptions{Data: &contextData{data: namespaces(n)}}).(*evaluator)
			input, err := m.input(pod, settings)
			if err != nil {
				b.Fatal(err)
			}
			ctx := b.Context()
			evaluate := func(b *testing.B) {
				if _, err := p.evaluate(ctx, operationValidate, input, settings); err != nil {
					b.Fatal(err)
				}
			}
			for range 4 * e.limits.Instances {
				evaluate(b)
			}
			s := p.rego.current
			b.Logf("%d bytes of memory", len(s.snapshot.memory))
			i, err := s.pool.take(ctx)
			if err != nil {
				b.Fatal(err)
			}
			defer s.pool.give(i, true)
			bare := func(b *testing.B) {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				state := &evaluation{policy: p, limits: &p.limits, operation: operationValidate, payload: input, instance: i}
				state.ctx = context.WithValue(ctx, evaluationKey{}, state)
				i.module.Memory().Write(s.heap, input)
				if _, err := i.opa.eval.Call(state.ctx, 0, 0, uint64(s.data), uint64(s.heap), uint64(len(input)), uint64(s.heap)+uint64(len(input)), 0); err != nil {
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

// BenchmarkRegoData is what it takes to read new data into a module.
func BenchmarkRegoData(b *testing.B) {
	m := compileRego(b, newEngine(b, Limits{}), regoGuest(b, ModeOPA), ModeOPA)
	data := &contextData{data: namespaces(3000)}
	p := m.Evaluator(EvaluatorOptions{Data: data})
	for b.Loop() {
		data.set(data.data, nil)
		if _, err := p.Validate(b.Context(), pod, nil); err != nil {
			b.Fatal(err)
		}
	}
}
