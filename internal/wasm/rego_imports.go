package wasm

import (
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport-io/sallyport/internal/wasm/regobuiltin"
)

const moduleRego = "env"

// importMemory is what a module made from Rego wants from its host and gets
// rewritten into a memory of its own.
const importMemory = moduleRego + ".memory"

// exportRegoHost gives the functions that a module made from Rego calls.
func exportRegoHost(builder wazero.HostModuleBuilder) {
	define(builder, "opa_abort", 1, 0, func(e *evaluation, module api.Module, stack []uint64) {
		text := e.line(module, uint32(stack[0]), longestError, "the reason of its giving up")
		e.stop(ReasonGuest, errors.New("the module gave up: "+tidy(string(text), longestError)))
	})
	define(builder, "opa_println", 1, 0, func(e *evaluation, module api.Module, stack []uint64) {
		e.log(StreamConsole, e.line(module, uint32(stack[0]), e.limits.HostCallBytes, "a line to log"))
	})
	for n := range 5 {
		define(builder, fmt.Sprintf("opa_builtin%d", n), n+2, 1, func(e *evaluation, module api.Module, stack []uint64) {
			stack[0] = uint64(e.builtin(module, int32(stack[0]), stack[2:n+2]))
		})
	}
}

// builtin calls the function of that number, and returns the address of what it
// answers, 0 if it is undefined.
func (e *evaluation) builtin(module api.Module, number int32, addresses []uint64) uint32 {
	name, ok := "", false
	if e.instance != nil && e.instance.opa != nil && e.instance.module == module {
		name, ok = e.instance.owner.functions[number]
	}
	switch {
	case !ok:
		e.stop(ReasonTrap, fmt.Errorf("the module calls the builtin function %d, which it did not list", number))
	case e.inBuiltin:
		// What converts values for a call would call again, and so on.
		e.stop(ReasonTrap, fmt.Errorf("the module calls the builtin function %s from within another one", tidy(name, 100)))
	}
	e.inBuiltin = true
	defer func() { e.inBuiltin = false }()

	arguments := make([][]byte, len(addresses))
	left := regobuiltin.MaxArguments
	for i, address := range addresses {
		arguments[i] = e.dump(module, uint32(address), left, name)
		left -= len(arguments[i])
	}
	if e.rego == nil {
		now := time.Now
		if e.now != nil {
			now = e.now
		}
		e.rego = regobuiltin.New(e.ctx, now(), func(line string) { e.printed = append(e.printed, line) })
	}
	answer, ended := e.policy.await(e.ctx, func() ([]byte, error) { return e.rego.Call(name, arguments) }, "the builtin function "+name)
	if ended {
		e.late("the builtin function " + name)
	}
	for _, line := range e.printed {
		e.log(StreamConsole, []byte(line))
	}
	e.printed = nil
	switch {
	case answer.err != nil:
		e.stop(ReasonLimit, answer.err)
	case answer.content == nil:
		return 0
	}
	return e.load(module, answer.content, e.instance.opa.valueParse, "the answer of a builtin function")
}

// dump reads a value of the module as text that the host keeps.
func (e *evaluation) dump(module api.Module, address uint32, most int, name string) []byte {
	text, err := invoke(e.ctx, e.instance.opa.valueDump, address)
	if err != nil {
		e.fail(err)
	}
	return append([]byte(nil), e.line(module, text, most, "an argument of the builtin function "+tidy(name, 100))...)
}

// load puts text into the module and has parse make a value of it, whose address
// it returns.
func (e *evaluation) load(module api.Module, text []byte, parse api.Function, what string) uint32 {
	ptr, err := invoke(e.ctx, e.instance.opa.malloc, uint32(len(text)))
	if err != nil {
		e.fail(err)
	}
	e.put(module, ptr, text, what)
	value, err := invoke(e.ctx, parse, ptr, uint32(len(text)))
	if err != nil {
		e.fail(err)
	}
	if value == 0 {
		e.stop(ReasonTrap, fmt.Errorf("the module cannot read %s", what))
	}
	return value
}

// fail ends the call that runs with the error of a call that it made, if that was
// not ended by the host already.
func (e *evaluation) fail(err error) {
	if e.stopped != nil {
		panic(e.stopped)
	}
	panic(err)
}
