package wasm

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"unicode/utf16"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

type hostFunction func(e *evaluation, module api.Module, stack []uint64)

func define(builder wazero.HostModuleBuilder, name string, parameters, results int, f hostFunction) {
	values := func(n int) []api.ValueType {
		types := make([]api.ValueType, n)
		for i := range types {
			types[i] = api.ValueTypeI32
		}
		return types
	}
	builder.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, module api.Module, stack []uint64) {
		f(evaluationOf(ctx), module, stack)
	}), values(parameters), values(results)).Export(name)
}

// exportWaPC gives the nine functions of the import module wapc.
func exportWaPC(builder wazero.HostModuleBuilder) {
	define(builder, "__guest_request", 2, 0, func(e *evaluation, module api.Module, stack []uint64) {
		e.put(module, uint32(stack[0]), []byte(e.operation), "the operation")
		e.put(module, uint32(stack[1]), e.payload, "the payload")
	})
	define(builder, "__guest_response", 2, 0, func(e *evaluation, module api.Module, stack []uint64) {
		e.response = e.answer(module, stack, "its answer")
	})
	define(builder, "__guest_error", 2, 0, func(e *evaluation, module api.Module, stack []uint64) {
		e.guestError = e.answer(module, stack, "its error")
	})
	define(builder, "__host_call", 8, 1, func(e *evaluation, module api.Module, stack []uint64) {
		e.hostResponse, e.hostError = nil, nil
		content, err := e.call(module, stack)
		stack[0] = 1
		if e.hostResponse = content; err != nil {
			e.hostError, stack[0] = []byte(err.Error()), 0
		}
	})
	define(builder, "__host_response_len", 0, 1, func(e *evaluation, _ api.Module, stack []uint64) {
		stack[0] = uint64(len(e.hostResponse))
	})
	define(builder, "__host_response", 1, 0, func(e *evaluation, module api.Module, stack []uint64) {
		e.put(module, uint32(stack[0]), e.hostResponse, "the answer to a host call")
	})
	define(builder, "__host_error_len", 0, 1, func(e *evaluation, _ api.Module, stack []uint64) {
		stack[0] = uint64(len(e.hostError))
	})
	define(builder, "__host_error", 1, 0, func(e *evaluation, module api.Module, stack []uint64) {
		e.put(module, uint32(stack[0]), e.hostError, "the error of a host call")
	})
	define(builder, "__console_log", 2, 0, func(e *evaluation, module api.Module, stack []uint64) {
		line := e.read(module, uint32(stack[0]), uint32(stack[1]), "a line to log")
		e.log(StreamConsole, line)
	})
}

// answer copies what a module gives back, if it is not too much.
func (e *evaluation) answer(module api.Module, stack []uint64, what string) []byte {
	ptr, length := uint32(stack[0]), uint32(stack[1])
	if uint64(length) > uint64(e.limits.ResponseBytes) {
		e.stop(ReasonLimit, fmt.Errorf("the module answers %d bytes; at most %d are allowed", length, e.limits.ResponseBytes))
	}
	return bytes.Clone(e.read(module, ptr, length, what))
}

// exportHost gives host.call, which a WASI command reads the answer to from its
// standard input.
func exportHost(builder wazero.HostModuleBuilder) {
	define(builder, "call", 8, 1, func(e *evaluation, module api.Module, stack []uint64) {
		content, err := e.call(module, stack)
		stack[0] = 0
		if err != nil {
			content, stack[0] = []byte(err.Error()), 1
		}
		if waiting := len(e.stdin); len(content) > e.limits.HostCallBytes+e.limits.PayloadBytes-waiting {
			e.stop(ReasonLimit, fmt.Errorf("%d bytes on its standard input were not read by the module", waiting))
		}
		e.stdin = append(e.stdin[:len(e.stdin):len(e.stdin)], content...)
	})
}

// exportWASI gives preview 1 as wazero implements it, except for what would change
// the three files that there are: that would be left for the next evaluation.
func exportWASI(builder wazero.HostModuleBuilder) {
	const (
		success = 0
		badFile = 8
	)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(builder)
	standard := func(_ *evaluation, _ api.Module, stack []uint64) {
		file := uint32(stack[0])
		stack[0] = badFile
		if file <= 2 {
			stack[0] = success
		}
	}
	define(builder, "fd_close", 1, 1, standard)
	define(builder, "fd_fdstat_set_flags", 2, 1, standard)
	define(builder, "fd_renumber", 2, 1, func(_ *evaluation, _ api.Module, stack []uint64) { stack[0] = badFile })
	// It ends the call, and not the module: what TinyGo compiles ends its _start in
	// this way, and is called afterwards.
	define(builder, "proc_exit", 1, 0, func(_ *evaluation, _ api.Module, stack []uint64) {
		panic(sys.NewExitError(uint32(stack[0])))
	})
}

// exportAbort gives what AssemblyScript calls where an assertion fails.
func exportAbort(builder wazero.HostModuleBuilder) {
	define(builder, abort, 4, 0, func(e *evaluation, module api.Module, stack []uint64) {
		message, file := scriptText(module, uint32(stack[0])), scriptText(module, uint32(stack[1]))
		e.stop(ReasonTrap, fmt.Errorf("the module gave up: %s, at %s:%d:%d", tidy(message, longestError), tidy(file, 256), uint32(stack[2]), uint32(stack[3])))
	})
}

// scriptText reads a text of AssemblyScript: UTF-16 whose length stands before it.
// What cannot be read is empty.
func scriptText(module api.Module, ptr uint32) string {
	length, ok := module.Memory().ReadUint32Le(ptr - 4)
	if ptr < 4 || !ok {
		return ""
	}
	content, _ := module.Memory().Read(ptr, min(length, 2*longestError)&^1)
	units := make([]uint16, len(content)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(content[2*i:])
	}
	return string(utf16.Decode(units))
}
