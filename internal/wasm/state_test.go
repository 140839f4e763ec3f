package wasm

import (
	"context"
	"sync"
	"testing"
)

const counts = `{"accepted":true,"code":0}`

// digitAt is where the 0 of counts stands.
const digitAt = dataAt + len(counts) - 2

// leaks are modules that would answer another code each time, if something were
// left of the call before.
func leaks() map[string]assembly {
	memory := answering(counts, code(i32(int32(digitAt)), i32(int32(digitAt)), 0x2d, 0, 0, i32(1), 0x6a, 0x3a, 0, 0))
	inGlobal := answering(counts, code(
		0x23, 1, i32(1), 0x6a, 0x24, 1,
		i32(int32(digitAt)), 0x23, 1, i32('0'), 0x6a, 0x3a, 0, 0))
	inGlobal.globals = 2
	// Without a function in the table the code is 1, and 2 with one.
	inTable := answering(counts, code(
		i32(int32(digitAt)), i32('2'), i32('1'), i32(0), 0x25, 0, 0xd1, 0x45, 0x1b, 0x3a, 0, 0,
		i32(0), 0xd2, 1, 0x26, 0))
	inTable.table = true
	// The size of its memory, which grows.
	inSize := answering(counts, code(
		i32(int32(digitAt)), 0x3f, 0, i32('0'), 0x6a, 0x3a, 0, 0,
		i32(1), 0x40, 0, 0x1a))
	// A file that was closed cannot be closed again.
	inFiles := answering(counts, code(i32(int32(digitAt)), i32(1), call(0), i32('1'), 0x6a, 0x3a, 0, 0), "fd_close")
	inFiles.imports[0] = "wasi_snapshot_preview1.fd_close"
	return map[string]assembly{"memory": memory, "a global": inGlobal, "a table": inTable, "the size of memory": inSize, "files": inFiles}
}

func TestNothingIsLeft(t *testing.T) {
	e := newEngine(t, Limits{Instances: 1})
	for name, module := range leaks() {
		t.Run(name, func(t *testing.T) {
			m := compile(t, e, module.bytes())
			if reused, why := m.Reused(); reused != (name != "a table") {
				t.Errorf("reused %v, because %q", reused, why)
			}
			first := m.Evaluator(EvaluatorOptions{Policy: "first"})
			second := m.Evaluator(EvaluatorOptions{Policy: "second"})
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

// TestNothingIsLeftOfGo has a real runtime with a heap, which would count.
func TestNothingIsLeftOfGo(t *testing.T) {
	seen := &recorder{}
	e := newEngine(t, Limits{})
	m, err := e.Compile(context.Background(), waPCGuest(t), CompileOptions{Name: "go", Observer: seen, Instances: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(context.Background())
	p := m.Evaluator(EvaluatorOptions{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 25 {
				if r, err := p.Validate(context.Background(), pod, nil); err != nil || r.Message != "call 1" {
					t.Errorf("got %+v, %v", r, err)
				}
			}
		})
	}
	group.Wait()
	if seen.made > 3 {
		t.Errorf("100 evaluations took %d instances; 3 are enough", seen.made)
	}
}

func TestClosedModule(t *testing.T) {
	e := newEngine(t, Limits{})
	m, err := e.Compile(context.Background(), answering(accepts, nil).bytes(), CompileOptions{Name: "short-lived"})
	if err != nil {
		t.Fatal(err)
	}
	p := m.Evaluator(EvaluatorOptions{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				if _, err := p.Validate(context.Background(), pod, nil); err != nil {
					wantClosed(t, err)
					return
				}
			}
		})
	}
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
	group.Wait()
	_, err = p.Validate(context.Background(), pod, nil)
	wantClosed(t, err)
	if err := m.Close(context.Background()); err != nil {
		t.Errorf("closing it twice: %v", err)
	}
}

func wantClosed(t *testing.T, err error) {
	t.Helper()
	if wantReason(t, err, ReasonHost); err.Error() != "policy short-lived: validate: there is no instance to run: "+ErrClosed.Error() {
		t.Errorf("got %v", err)
	}
}
