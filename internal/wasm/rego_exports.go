package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport-io/sallyport/internal/wasm/regobuiltin"
)

// opaExports are what is called in an instance of a module made from Rego.
type opaExports struct {
	malloc, jsonParse, jsonDump, valueDump, valueParse api.Function
	heapGet, heapSet, builtins, entrypoints            api.Function
	// eval evaluates in one call, from version 1.2 on.
	eval api.Function
	// The steps of an evaluation in older modules follow.
	newContext, setInput, setData, setEntrypoint, run, result api.Function

	abi string
}

// lookUp finds what an instance exports and checks the types of it.
func lookUp(module api.Module) (*opaExports, error) {
	o := &opaExports{}
	major, minor := module.ExportedGlobal("opa_wasm_abi_version"), module.ExportedGlobal("opa_wasm_abi_minor_version")
	if major == nil || minor == nil {
		return nil, errors.New("it does not say which version of the Open Policy Agent's interface it speaks: it exports no opa_wasm_abi_version and opa_wasm_abi_minor_version")
	}
	o.abi = fmt.Sprintf("%d.%d", int32(major.Get()), int32(minor.Get()))
	if int32(major.Get()) != 1 || int32(minor.Get()) < 1 {
		return nil, fmt.Errorf("it speaks version %s of the Open Policy Agent's interface; 1.1 and later ones of 1 are spoken here", o.abi)
	}
	functions := []opaFunction{
		{&o.malloc, "opa_malloc", 1, 1}, {&o.jsonParse, "opa_json_parse", 2, 1}, {&o.jsonDump, "opa_json_dump", 1, 1},
		{&o.heapGet, "opa_heap_ptr_get", 0, 1}, {&o.heapSet, "opa_heap_ptr_set", 1, 0},
		{&o.builtins, "builtins", 0, 1}, {&o.entrypoints, "entrypoints", 0, 1},
		{&o.valueDump, "opa_value_dump", 1, 1}, {&o.valueParse, "opa_value_parse", 2, 1},
	}
	if int32(minor.Get()) >= 2 {
		functions = append(functions, opaFunction{&o.eval, "opa_eval", 7, 1})
	} else {
		functions = append(functions,
			opaFunction{&o.newContext, exportRego, 0, 1}, opaFunction{&o.setInput, "opa_eval_ctx_set_input", 2, 0},
			opaFunction{&o.setData, "opa_eval_ctx_set_data", 2, 0}, opaFunction{&o.setEntrypoint, "opa_eval_ctx_set_entrypoint", 2, 0},
			opaFunction{&o.run, "eval", 1, 1}, opaFunction{&o.result, "opa_eval_ctx_get_result", 1, 1})
	}
	for _, f := range functions {
		*f.into = module.ExportedFunction(f.name)
		if err := signature(*f.into, f.name, f.parameters, f.results); err != nil {
			return nil, err
		}
	}
	return o, nil
}

type opaFunction struct {
	into                *api.Function
	name                string
	parameters, results int
}

// invoke calls f for the evaluation that ctx carries.
func invoke(ctx context.Context, f api.Function, values ...uint32) (uint32, error) {
	var stack [7]uint64
	for i, value := range values {
		stack[i] = uint64(value)
	}
	err := f.CallWithStack(ctx, stack[:])
	return uint32(stack[0]), err
}

// line reads text up to the zero that ends it.
func (e *evaluation) line(module api.Module, ptr uint32, most int, what string) []byte {
	memory := module.Memory()
	size := memory.Size()
	if ptr >= size {
		e.stop(ReasonTrap, fmt.Errorf("the module gave for %s the address %d, which is not in its memory of %d bytes", what, ptr, size))
	}
	content, _ := memory.Read(ptr, uint32(min(uint64(size-ptr), uint64(most)+1)))
	end := bytes.IndexByte(content, 0)
	switch {
	case end >= 0:
		return content[:end]
	case len(content) > most:
		e.stop(ReasonLimit, fmt.Errorf("the module gave for %s more than the %d bytes that are allowed", what, most))
	}
	e.stop(ReasonTrap, fmt.Errorf("the module gave for %s text that does not end within its memory", what))
	return nil
}

// mostNames bounds the JSON that lists entrypoints or functions.
const mostNames = 1 << 20

// names reads a list that f returns as an object of numbers by name.
func (i *instance) names(state *evaluation, f api.Function, what string) (map[string]int32, error) {
	value, err := invoke(state.ctx, f)
	if err != nil {
		return nil, err
	}
	text, err := invoke(state.ctx, i.opa.jsonDump, value)
	if err != nil {
		return nil, err
	}
	var numbers map[string]int32
	if err := json.Unmarshal(state.line(i.module, text, mostNames, what), &numbers); err != nil {
		return nil, fmt.Errorf("its list of %s makes no sense: %s", what, tidy(err.Error(), 300))
	}
	return numbers, nil
}

// describe asks an instance that has just been made what it is.
func (i *instance) describe(ctx context.Context) (info *RegoInfo, functions map[int32]string, err error) {
	state := &evaluation{limits: &i.owner.engine.limits, instance: i}
	state.ctx = context.WithValue(ctx, evaluationKey{}, state)
	i.current = state
	defer func() {
		if r := recover(); r != nil {
			err = i.owner.notMade(ctx, i, "asking what it is", fmt.Errorf("%s", tidy(fmt.Sprint(r), 300)))
		}
		i.current = nil
	}()
	entrypoints, err := i.names(state, i.opa.entrypoints, "entrypoints")
	if err != nil {
		return nil, nil, i.owner.notMade(ctx, i, "asking for its entrypoints", err)
	}
	builtins, err := i.names(state, i.opa.builtins, "builtin functions")
	if err != nil {
		return nil, nil, i.owner.notMade(ctx, i, "asking for its builtin functions", err)
	}
	info = &RegoInfo{ABI: i.opa.abi, Entrypoints: make([]string, len(entrypoints))}
	for name, number := range entrypoints {
		if number < 0 || int(number) >= len(entrypoints) || info.Entrypoints[number] != "" {
			return nil, nil, fmt.Errorf("its entrypoint %s has the number %s, which cannot be", tidy(name, 100), strconv.Itoa(int(number)))
		}
		info.Entrypoints[number] = name
	}
	if len(entrypoints) == 0 {
		return nil, nil, errors.New("it has no entrypoint: name the rule that is to be evaluated when it is compiled, as with opa build -t wasm -e policy/main")
	}
	functions = make(map[int32]string, len(builtins))
	for name, number := range builtins {
		if functions[number] != "" {
			return nil, nil, fmt.Errorf("two of its builtin functions have the number %d", number)
		}
		functions[number] = name
		info.Builtins = append(info.Builtins, name)
	}
	slices.Sort(info.Builtins)
	for _, name := range info.Builtins {
		if err := regobuiltin.Known(name); err != nil {
			info.Missing = append(info.Missing, err.Error())
		}
	}
	return info, functions, nil
}
