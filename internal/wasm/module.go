package wasm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
)

// CompileOptions say how a module is compiled.
type CompileOptions struct {
	// Name is what messages and the Observer call the module.
	Name string
	// Instances overrides the limit of the engine, where it is not zero.
	Instances int
	// Observer is told of instances that are made. It may be nil.
	Observer Observer
	// Warm has calls made before the first evaluation. It may be nil.
	Warm *Warm
	// Mode is how a module is run that was compiled from Rego, and empty for others.
	Mode RegoMode
}

// Module is a compiled policy. It is safe for concurrent use.
type Module struct {
	name     string
	kind     Kind
	engine   *Engine
	compiled wazero.CompiledModule
	observer Observer

	// Why instances cannot be put back to where they began. Empty: they can.
	fresh    string
	globals  []string
	snapshot *snapshot

	// Why the module was not warmed, or the settings that it was warmed with.
	cold         string
	warmSettings []byte

	// What a module that was compiled from Rego says of itself, how it is run, and
	// its functions by their numbers.
	rego      *RegoInfo
	mode      RegoMode
	functions map[int32]string
	policies  *regoPolicies
	instances int

	calls    *pool
	settings *pool // of a WASI module, whose arguments an instance is born with
}

// Compile reads and compiles a module and runs what initialises it. A module
// that cannot be used is refused here, with the reason, and not at a request.
func (e *Engine) Compile(ctx context.Context, wasm []byte, options CompileOptions) (*Module, error) {
	m, err := e.compile(ctx, wasm, options)
	if err != nil {
		return nil, fmt.Errorf("the module %s cannot be used: %w", tidy(options.Name, 256), err)
	}
	return m, nil
}

func (e *Engine) compile(ctx context.Context, wasm []byte, options CompileOptions) (*Module, error) {
	m, wasm, err := e.prepare(wasm, options)
	if err != nil {
		return nil, err
	}
	switch {
	case m.kind == KindRego && !options.Mode.valid():
		return nil, fmt.Errorf("it was compiled from Rego, and how it is run is not said: its metadata has to give the executionMode %s or %s", ModeOPA, ModeGatekeeper)
	case m.kind != KindRego && options.Mode != "":
		return nil, fmt.Errorf("it is %s, and was not compiled from Rego, as the execution mode %s asks for", m.kind, tidy(string(options.Mode), 50))
	}
	if err := e.start(ctx, m, wasm, options); err != nil {
		return nil, err
	}
	if m.rego != nil && len(m.rego.Missing) > 0 {
		return nil, errors.Join(errors.New(strings.Join(m.rego.Missing, "; ")), m.Close(ctx))
	}
	return m, nil
}

// prepare reads a module and makes it fit to be compiled.
func (e *Engine) prepare(wasm []byte, options CompileOptions) (*Module, []byte, error) {
	if len(wasm) > e.limits.ModuleBytes {
		return nil, nil, fmt.Errorf("it has %d bytes; at most %d are accepted", len(wasm), e.limits.ModuleBytes)
	}
	o, err := readOutline(wasm)
	if err != nil {
		return nil, nil, err
	}
	m := &Module{
		name: options.Name, engine: e, observer: options.Observer, mode: options.Mode,
		instances: orDefault(options.Instances, e.limits.Instances), policies: &regoPolicies{},
		fresh: "it is a WASI command, which ends with its call",
	}
	if m.observer == nil {
		m.observer = silent{}
	}
	if m.kind, err = o.kind(); err != nil {
		return nil, nil, err
	}
	if missing := o.unknownImports(e.given[m.kind]); len(missing) > 0 {
		return nil, nil, fmt.Errorf("it imports what is not given to a %s module: %s", m.kind, list(missing))
	}
	if m.kind == KindRego {
		if wasm, err = o.ownMemory(wasm); err != nil {
			return nil, nil, err
		}
		if o, err = readOutline(wasm); err != nil {
			return nil, nil, err
		}
	}
	if m.kind != KindWASI {
		var exposed []byte
		exposed, m.globals, m.fresh = o.expose(wasm)
		if m.fresh == "" {
			wasm = exposed
		}
	}
	return m, wasm, nil
}

// start compiles a module and makes its first instance.
func (e *Engine) start(ctx context.Context, m *Module, wasm []byte, options CompileOptions) (err error) {
	m.compiled, err = e.compileModule(ctx, wasm)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return errors.New(tidy(first, 500))
	}
	if err := m.begin(ctx, options.Warm); err != nil {
		return errors.Join(err, m.compiled.Close(ctx))
	}
	return nil
}

// begin makes the first instance, which the others are copies of.
func (m *Module) begin(ctx context.Context, warm *Warm) error {
	m.calls = newPool(m.instances, m.make, true)
	if m.kind == KindWASI {
		m.settings = newPool(1, m.makeForSettings, false)
	}
	ctx, cancel := context.WithTimeout(ctx, m.engine.limits.Deadline)
	defer cancel()
	first, err := m.make(ctx)
	if err != nil {
		return err
	}
	if m.kind == KindRego {
		defer first.close()
		m.cold = "it was compiled from Rego"
		m.rego, m.functions, err = first.describe(ctx)
		return err
	}
	switch {
	case warm == nil:
		m.cold = "it was not asked for"
	case m.fresh != "":
		m.cold = "its instances are not used again: " + m.fresh
	default:
		settings, err := m.warm(ctx, first, warm)
		if err == nil {
			m.warmSettings = settings
			break
		}
		m.cold = err.Error()
		first.close()
		// The time may have been used up by a module that does not end.
		again, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.engine.limits.Deadline)
		defer cancel()
		if first, err = m.make(again); err != nil {
			return err
		}
	}
	if m.fresh == "" {
		m.snapshot, m.fresh = takeSnapshot(first)
		first.snapshot = m.snapshot
	}
	m.calls.push(first)
	return nil
}

func (m *Module) make(ctx context.Context) (*instance, error) {
	return m.instantiate(ctx, operationValidate)
}

func (m *Module) makeForSettings(ctx context.Context) (*instance, error) {
	return m.instantiate(ctx, argumentValidateSettings)
}

// Kind is how the module is spoken to.
func (m *Module) Kind() Kind { return m.kind }

// Reused says whether an instance is used for more than one evaluation, its
// memory and globals put back to where they began after each. If not, why says
// what stands in the way, and each evaluation gets an instance of its own.
func (m *Module) Reused() (reused bool, why string) { return m.fresh == "", m.fresh }

// Close waits for the evaluations that run and frees what the module holds.
func (m *Module) Close(ctx context.Context) error {
	m.policies.close()
	m.calls.close()
	if m.settings != nil {
		m.settings.close()
	}
	return m.compiled.Close(ctx)
}

func (m *Module) instantiated(began time.Time) { m.observer.Instantiated(m.name, time.Since(began)) }
