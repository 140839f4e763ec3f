package wasm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

const (
	operationValidate         = "validate"
	operationValidateSettings = "validate_settings"
	operationProtocolVersion  = "protocol_version"

	argumentValidateSettings = "validate-settings"
)

// starters are what a waPC module may export to be initialised, in this order.
var starters = []string{exportStart, "_initialize", "wapc_init"}

// instance is a module with its memory. One evaluation uses it at a time.
type instance struct {
	owner   *Module
	module  api.Module
	entry   api.Function
	globals []api.MutableGlobal
	// snapshot is what the instance is put back to; nil if that is not possible.
	snapshot *snapshot
	// opa and state belong to a module made from Rego.
	opa   *opaExports
	state *regoState

	// current is the evaluation that runs. What WASI's functions do is about it.
	current *evaluation
}

func (m *Module) instantiate(ctx context.Context, operation string) (_ *instance, err error) {
	began := time.Now()
	i := &instance{owner: m, current: &evaluation{ctx: ctx, limits: &m.engine.limits}}
	i.current.instance = i
	i.current.ctx = context.WithValue(ctx, evaluationKey{}, i.current)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("an instance could not be made: %s", tidy(fmt.Sprint(r), 300))
		}
		i.current = nil
	}()
	config := wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions().
		WithArgs("policy.wasm", operation).
		WithStdin(stdin{i}).
		WithStdout(&stdout{instance: i}).
		WithStderr(&stderr{instance: i}).
		WithRandSource(rand.Reader).
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(i.sleep).
		WithOsyield(func() {})
	i.module, err = m.engine.runtime.InstantiateModule(i.current.ctx, m.compiled, config)
	if err != nil {
		return nil, m.notMade(ctx, i, "instantiating it", err)
	}
	if err := i.prepare(ctx); err != nil {
		i.close()
		return nil, err
	}
	m.instantiated(began)
	return i, nil
}

func (i *instance) prepare(ctx context.Context) error {
	m := i.owner
	if i.module.Memory() == nil {
		return errors.New("it has no memory")
	}
	if m.kind == KindWASI {
		i.entry = i.module.ExportedFunction(exportStart)
		return signature(i.entry, exportStart, 0, 0)
	}
	for _, name := range m.globals {
		global, ok := i.module.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return fmt.Errorf("its global %s cannot be put back", name)
		}
		i.globals = append(i.globals, global)
	}
	if m.kind == KindRego {
		var err error
		i.opa, err = lookUp(i.module)
		return err
	}
	i.entry = i.module.ExportedFunction(exportGuestCall)
	if err := signature(i.entry, exportGuestCall, 2, 1); err != nil {
		return err
	}
	if i.snapshot = m.snapshot; i.snapshot != nil {
		return i.snapshot.apply(i)
	}
	for _, name := range starters {
		starter := i.module.ExportedFunction(name)
		if starter == nil {
			continue
		}
		if err := signature(starter, name, 0, 0); err != nil {
			return err
		}
		// To end itself well is a way to have begun.
		var exit *sys.ExitError
		if _, err := starter.Call(i.current.ctx); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 0) {
			return m.notMade(ctx, i, "its function "+name, err)
		}
	}
	return nil
}

func (m *Module) notMade(ctx context.Context, i *instance, what string, err error) error {
	return fmt.Errorf("%s: %w", what, failure(ctx, m.name, what, i.current, err).Err)
}

func signature(f api.Function, name string, parameters, results int) error {
	if f == nil {
		return fmt.Errorf("it does not export the function %s", name)
	}
	d := f.Definition()
	fits := len(d.ParamTypes()) == parameters && len(d.ResultTypes()) == results
	for _, t := range append(append([]api.ValueType(nil), d.ParamTypes()...), d.ResultTypes()...) {
		fits = fits && t == api.ValueTypeI32
	}
	if !fits {
		return fmt.Errorf("its function %s takes %d values and returns %d; %d and %d, all i32, are expected", name, len(d.ParamTypes()), len(d.ResultTypes()), parameters, results)
	}
	return nil
}

// run calls the entry of the instance for state.
func (i *instance) run(state *evaluation) (accepted bool, err error) {
	var stack [2]uint64
	err = i.guard(state, func() error {
		switch i.owner.kind {
		case KindWASI:
			stack[0] = 1
			return i.entry.CallWithStack(state.ctx, nil)
		case KindRego:
			stack[0] = 1
			return i.evaluateRego(state)
		default:
			stack[0], stack[1] = uint64(len(state.operation)), uint64(len(state.payload))
			return i.entry.CallWithStack(state.ctx, stack[:])
		}
	})
	return uint32(stack[0]) != 0, err
}

// guard has the instance work for state while f runs, and makes an error of a
// panic.
func (i *instance) guard(state *evaluation, f func() error) (err error) {
	i.current, state.instance = state, i
	defer func() {
		i.current = nil
		if r := recover(); r != nil {
			err = fmt.Errorf("%s", tidy(fmt.Sprint(r), 300))
		}
	}()
	return f()
}

// reset puts the instance back to where it began, and says whether that was
// possible.
func (i *instance) reset() bool {
	return i.snapshot != nil && !i.module.IsClosed() && i.snapshot.restore(i)
}

func (i *instance) close() {
	if i.module != nil {
		// Its files are pipes of ours: there is nothing in closing that can fail.
		_ = i.module.Close(context.Background())
	}
}

// sleep ends with the evaluation, which a module's own sleep would not.
func (i *instance) sleep(ns int64) {
	if ns <= 0 {
		return
	}
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-i.current.ctx.Done():
	}
}

type stdin struct{ *instance }

func (s stdin) Read(p []byte) (int, error) {
	n := copy(p, s.current.stdin)
	s.current.stdin = s.current.stdin[n:]
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// stdout is the answer of a WASI command, and a log of a waPC module.
type stdout struct{ *instance }

func (s *stdout) Write(p []byte) (int, error) {
	state := s.current
	if s.owner.kind != KindWASI {
		state.write(StreamStdout, p)
		return len(p), nil
	}
	if limit := state.limits.ResponseBytes; len(p) > limit-len(state.response) {
		state.stop(ReasonLimit, fmt.Errorf("the module answers more than the %d bytes that are allowed", limit))
	}
	state.response = append(state.response, p...)
	return len(p), nil
}

type stderr struct{ *instance }

func (s *stderr) Write(p []byte) (int, error) {
	s.current.write(StreamStderr, p)
	return len(p), nil
}
