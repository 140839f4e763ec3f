package wasm

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

const accepts = `{"accepted":true}`

// recursion is a module with a function that calls itself.
func recursion() assembly {
	a := waPC(code(call(2), i32(1)))
	a.function = append(a.function, function{body: code(call(2))})
	return a
}

func TestHostileModules(t *testing.T) {
	const second = 1_000_000_000
	wide := answering(accepts, nil)
	wide.function[0].body = code(i32(dataAt), i32(1<<30), call(0), i32(1))
	grows := answering(accepts, loop(i32(1), 0x40, 0, 0x1a))
	growsThenTraps := answering(accepts, code(i32(1000), 0x40, 0, i32(-1), 0x46, 0x04, 0x40, 0x00, 0x0b))
	exits := assembly{imports: []string{"wasi_snapshot_preview1.proc_exit"}, function: []function{
		{export: exportGuestCall, parameters: 2, results: 1, body: code(i32(0), call(0), i32(1))}}}
	asks := loop(i32(0), i32(1), i32(0), i32(1), i32(0), i32(1), i32(0), i32(1), call(0), 0x1a)
	badAsk := code(i32(0), i32(1), i32(0), i32(1), i32(0), i32(1), i32(-8), i32(16), call(0), 0x1a)
	command := assembly{imports: []string{"wasi_snapshot_preview1.fd_write"}, data: strings.Repeat("\x00\x00\x00\x00\x00\x00\x01\x00", 1),
		function: []function{{export: exportStart, body: loop(i32(1), i32(dataAt), i32(1), i32(0), call(0), 0x1a)}}}

	tests := []struct {
		name   string
		module assembly
		want   Reason
		text   string
	}{
		{"an endless loop", waPC(code(loop(), i32(1))), ReasonDeadline, "did not end in its time"},
		{"memory without end", grows, ReasonDeadline, "did not end in its time"},
		{"memory beyond the limit", growsThenTraps, ReasonTrap, "unreachable"},
		{"an answer of 1 GiB", wide, ReasonLimit, "answers 1073741824 bytes; at most 1048576 are allowed"},
		{"an answer outside of memory", waPC(code(i32(-256), i32(512), call(0), i32(1))), ReasonTrap, "not all in its memory of 65536 bytes"},
		{"a request written outside of memory", answering(accepts, code(i32(65535), i32(65535), call(0)), "__guest_request"), ReasonTrap, "the operation of 8 bytes at 65535"},
		{"a log line outside of memory", answering(accepts, code(i32(65535), i32(2), call(0)), "__console_log"), ReasonTrap, "a line to log"},
		{"a host call with a wrong pointer", answering(accepts, badAsk, "__host_call"), ReasonTrap, "the payload of a host call"},
		{"host calls without end", answering(accepts, asks, "__host_call"), ReasonDeadline, "did not end in its time"},
		{"lines without end", answering(accepts, loop(i32(0), i32(9), call(0)), "__console_log"), ReasonDeadline, "did not end in its time"},
		{"output without end", command, ReasonLimit, "answers more than the 1048576 bytes"},
		{"a crash", waPC(code(0x00)), ReasonTrap, "unreachable"},
		{"an exit", exits, ReasonExit, "ended itself with exit code 0"},
		{"no answer", waPC(code(i32(1))), ReasonAnswer, "gave no answer"},
		{"an error without a text", waPC(code(i32(0))), ReasonGuest, "without saying why"},
		{"an answer that is not JSON", answering(`{"accepted":`, nil), ReasonAnswer, "makes no sense"},
	}
	e := newEngine(t, Limits{Deadline: second / 2, MemoryPages: 256, ResponseBytes: 1 << 20, Instances: 1})
	honest := compile(t, e, answering(accepts, nil).bytes()).Evaluator(EvaluatorOptions{Policy: "honest"})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := &recorder{}
			p := compile(t, e, test.module.bytes()).Evaluator(EvaluatorOptions{Policy: "hostile", Observer: seen})
			for range 2 { // more often than there are instances
				began := time.Now()
				_, err := p.Validate(context.Background(), pod, nil)
				failed := wantReason(t, err, test.want)
				if !strings.Contains(failed.Error(), test.text) || !strings.HasPrefix(failed.Error(), "policy hostile: validate: ") {
					t.Errorf("got %q, want it to say %q", failed, test.text)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("took %v", took)
				}
			}
			if len(seen.lines) > 3*DefaultLimits().LogLines {
				t.Errorf("%d lines were logged", len(seen.lines))
			}
			if r, err := honest.Validate(context.Background(), pod, nil); err != nil || !r.Accepted {
				t.Errorf("another policy afterwards: %+v, %v", r, err)
			}
		})
	}
}

// TestRecursion has a stack that grows to its limit, which may take longer than
// the other tests wait.
func TestRecursion(t *testing.T) {
	e := newEngine(t, Limits{Deadline: 20 * time.Second, Instances: 1})
	p := compile(t, e, recursion().bytes()).Evaluator(EvaluatorOptions{})
	for range 2 {
		_, err := p.Validate(context.Background(), pod, nil)
		if failed := wantReason(t, err, ReasonTrap); !strings.Contains(failed.Error(), "stack overflow") {
			t.Errorf("got %v", failed)
		}
	}
}

func TestModulesThatAreRefused(t *testing.T) {
	good := answering(accepts, nil).bytes()
	unknown := answering(accepts, nil)
	unknown.imports = append(unknown.imports, "env.seed", "host.call", "wasi_snapshot_preview1.path_teleport")
	huge := answering(accepts, nil)
	huge.pages = 5000
	wrong := assembly{function: []function{{export: exportGuestCall, results: 1, body: i32(1)}}}
	loops := answering(accepts, nil)
	loops.function = append(loops.function, function{export: "wapc_init", body: loop()})
	crashes := answering(accepts, nil)
	crashes.function = append(crashes.function, function{export: "_initialize", body: code(0x00)})
	signature := answering(accepts, nil)
	signature.imports = append(signature.imports, "wapc.proc_exit")
	// It calls a function whose type there is not, over which the compiler panics.
	calls := recursion().bytes()
	noType := bytes.Replace(calls, []byte{3, 3, 2, 1, 2}, []byte{3, 3, 2, 1, 48}, 1)
	invalid := waPC(code(i32(1), 0x6a))

	tests := []struct {
		name   string
		module []byte
		text   string
	}{
		{"empty", nil, "it is empty"},
		{"not wasm", []byte("#!/bin/sh\n"), `it is not WebAssembly: it begins with "#!/b"`},
		{"a component", []byte("\x00asm\x0d\x00\x01\x00"), "it is a WebAssembly component"},
		{"another version", []byte("\x00asm\x02\x00\x00\x00"), "its version of the binary format is 02 00 00 00"},
		{"cut in the header", good[:6], "cut off"},
		{"cut in a section", good[:len(good)-5], "the module is cut off"},
		{"cut between sections", good[:8], "it exports neither the function __guest_call"},
		{"too large", append(append([]byte(nil), good...), code(0, counted(make([]byte, 1<<20)))...), "at most 65536 are accepted"},
		{"no exports", assembly{function: []function{{export: "other", body: nil}}}.bytes(), "its exports are: memory, other"},
		{"imports waPC without its export", assembly{imports: []string{"wapc.__console_log"}, function: []function{{export: "_start"}}}.bytes(), "does not export the function __guest_call"},
		{"unknown imports", unknown.bytes(), "it imports what is not given to a wapc module: env.seed, host.call, wasi_snapshot_preview1.path_teleport"},
		{"a wasi command that imports waPC's host call", assembly{imports: []string{"host.other"}, function: []function{{export: exportStart}}}.bytes(), "not given to a wasi module: host.other"},
		{"Rego", assembly{function: []function{{export: exportRego}}}.bytes(), "was compiled from Rego"},
		{"too much memory", huge.bytes(), "5000"},
		{"another signature", wrong.bytes(), "its function __guest_call takes 0 values and returns 1; 2 and 1, all i32, are expected"},
		{"an import of another signature", signature.bytes(), "wapc.proc_exit"},
		{"code that is not valid", invalid.bytes(), "invalid"},
		{"a type that there is not", noType, "the compiler failed over it"},
		{"an endless loop at the start", loops.bytes(), "its function wapc_init: it did not end in its time"},
		{"a crash at the start", crashes.bytes(), "its function _initialize: the module crashed"},
	}
	e := newEngine(t, Limits{ModuleBytes: 1 << 16, MemoryPages: 256, Deadline: 200 * time.Millisecond})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := e.Compile(context.Background(), test.module, CompileOptions{Name: "bad"})
			if err == nil {
				m.Close(context.Background())
				t.Fatal("it was accepted")
			}
			if !strings.HasPrefix(err.Error(), "the module bad cannot be used: ") || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %q, want it to say %q", err, test.text)
			}
		})
	}
}

func TestHostCallsThatFail(t *testing.T) {
	// It answers a refusal whose code is the length of the answer or error it got.
	asks := code(i32(dataAt), i32(1), i32(dataAt), i32(1), i32(dataAt), i32(1), i32(0), i32(0), call(0), 0x1a)
	module := answering(accepts, asks, "__host_call").bytes()
	e := newEngine(t, Limits{Deadline: 300 * time.Millisecond, HostCallBytes: 1 << 10})
	m := compile(t, e, module)
	ctx := context.Background()

	t.Run("one that never ends", func(t *testing.T) {
		release := make(chan struct{})
		seen := &recorder{}
		p := m.Evaluator(EvaluatorOptions{Policy: "blocked", Observer: seen, HostCall: func(context.Context, Call) ([]byte, error) {
			<-release // heeds no context
			return nil, nil
		}})
		began := time.Now()
		_, err := p.Validate(ctx, pod, nil)
		failed := wantReason(t, err, ReasonDeadline)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("took %v", took)
		}
		if !strings.Contains(failed.Error(), "the host call {/{/{ was not answered in time") {
			t.Errorf("got %v", failed)
		}
		close(release)
	})
	t.Run("too many that never end", func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		p := m.Evaluator(EvaluatorOptions{Deadline: 5 * time.Millisecond, HostCall: func(context.Context, Call) ([]byte, error) {
			<-release
			return nil, nil
		}})
		for range mostAbandoned {
			_, err := p.Validate(ctx, pod, nil)
			wantReason(t, err, ReasonDeadline)
		}
		if got := p.(*evaluator).abandoned.Load(); got > mostAbandoned {
			t.Errorf("%d host calls are left", got)
		}
	})
	t.Run("a panic", func(t *testing.T) {
		seen := &recorder{}
		p := m.Evaluator(EvaluatorOptions{Observer: seen, HostCall: func(context.Context, Call) ([]byte, error) { panic("secret") }})
		if _, err := p.Validate(ctx, pod, nil); err != nil {
			t.Error(err)
		}
		if len(seen.calls) != 1 || seen.calls[0] != "{/{/{: "+errHostPanic.Error() {
			t.Errorf("the module was told %q", seen.calls)
		}
	})
	t.Run("too long an answer", func(t *testing.T) {
		seen := &recorder{}
		p := m.Evaluator(EvaluatorOptions{Observer: seen, HostCall: func(context.Context, Call) ([]byte, error) { return make([]byte, 1<<11), nil }})
		if _, err := p.Validate(ctx, pod, nil); err != nil {
			t.Error(err)
		}
		if len(seen.calls) != 1 || !strings.Contains(seen.calls[0], "at most 1024 are given") {
			t.Errorf("the module was told %q", seen.calls)
		}
	})
	t.Run("an evaluation in a host call", func(t *testing.T) {
		var inner error
		var p Evaluator
		p = m.Evaluator(EvaluatorOptions{HostCall: func(ctx context.Context, _ Call) ([]byte, error) {
			_, inner = p.Validate(ctx, pod, nil)
			return nil, inner
		}})
		if _, err := p.Validate(ctx, pod, nil); err != nil {
			t.Error(err)
		}
		if !errors.Is(inner, ErrNested) {
			t.Errorf("the evaluation in it came to %v", inner)
		}
	})
	t.Run("a caller that gives up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(ctx)
		p := m.Evaluator(EvaluatorOptions{HostCall: func(ctx context.Context, _ Call) ([]byte, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		_, err := p.Validate(ctx, pod, nil)
		wantReason(t, err, ReasonCanceled)
	})
	t.Run("at the same time", func(t *testing.T) {
		p := m.Evaluator(EvaluatorOptions{HostCall: func(context.Context, Call) ([]byte, error) { return []byte("{}"), nil }})
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 50 {
					if r, err := p.Validate(ctx, pod, nil); err != nil || !r.Accepted {
						t.Errorf("%+v, %v", r, err)
					}
				}
			})
		}
		group.Wait()
	})
}
