package wasm

import "strings"

// assembly is a small module, written out in bytes: what no compiler would make
// of honest source.
type assembly struct {
	imports  []string // "module.name", of which signatures tells the type
	globals  int      // mutable, i32, 0
	constant []string // exported globals that are 1, i32
	table    bool     // of one function reference
	element  bool     // the first function is in the table
	start    int      // the number of the function that is started, from 1; 0 for none
	types    [][]byte // beside those of functions, after them
	passive  bool     // the data is for memory.init
	pages    uint64
	data     string // at dataAt
	function []function
}

type function struct {
	export              string
	parameters, results int
	locals              int
	body                []byte
}

const dataAt = 1024

var signatures = map[string][2]int{
	"__guest_request": {2, 0}, "__guest_response": {2, 0}, "__guest_error": {2, 0}, "__host_call": {8, 1},
	"__host_response_len": {0, 1}, "__host_error_len": {0, 1}, "__host_response": {1, 0}, "__host_error": {1, 0},
	"__console_log": {2, 0}, "proc_exit": {1, 0}, "abort": {4, 0}, "fd_close": {1, 1}, "fd_write": {4, 1}, "call": {8, 1},
	"opa_abort": {1, 0}, "opa_println": {1, 0}, "opa_builtin0": {2, 1}, "opa_builtin1": {3, 1}, "opa_builtin2": {4, 1},
}

func code(parts ...any) []byte {
	var b []byte
	for _, part := range parts {
		switch part := part.(type) {
		case int:
			b = append(b, byte(part))
		case []byte:
			b = append(b, part...)
		}
	}
	return b
}

// i32 is i32.const.
func i32(value int32) []byte {
	b := []byte{0x41}
	for v := value; ; v >>= 7 {
		low := byte(v & 0x7f)
		if done := (v>>7 == 0 && low&0x40 == 0) || (v>>7 == -1 && low&0x40 != 0); done {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

func call(index int) []byte { return appendNumber([]byte{0x10}, uint64(index)) }

func loop(body ...any) []byte { return code(0x03, 0x40, code(body...), 0x0c, 0, 0x0b) }

func vector(items ...[]byte) []byte {
	b := appendNumber(nil, uint64(len(items)))
	for _, item := range items {
		b = append(b, item...)
	}
	return b
}

func counted(content []byte) []byte {
	return append(appendNumber(nil, uint64(len(content))), content...)
}

func repeated(value byte, n int) []byte {
	return append(appendNumber(nil, uint64(n)), []byte(strings.Repeat(string(rune(value)), n))...)
}

func (a assembly) bytes() []byte {
	var types, imports, functions, exports, bodies [][]byte
	add := func(parameters, results int) []byte {
		values := func(n int) []byte { return repeated(typeI32, n) }
		types = append(types, code(0x60, values(parameters), values(results)))
		return appendNumber(nil, uint64(len(types)-1))
	}
	for _, name := range a.imports {
		module, field, _ := strings.Cut(name, ".")
		s := signatures[field]
		imports = append(imports, code(counted([]byte(module)), counted([]byte(field)), 0, add(s[0], s[1])))
	}
	for i, f := range a.function {
		functions = append(functions, add(f.parameters, f.results))
		if f.export != "" {
			exports = append(exports, code(counted([]byte(f.export)), 0, appendNumber(nil, uint64(len(a.imports)+i))))
		}
		locals := vector()
		if f.locals > 0 {
			locals = vector(code(appendNumber(nil, uint64(f.locals)), typeI32))
		}
		bodies = append(bodies, counted(code(locals, f.body, opEnd)))
	}
	types = append(types, a.types...)
	exports = append(exports, code(counted([]byte("memory")), externMemory, 0))
	out := append(append([]byte(nil), magic...), coreVersion...)
	section := func(id byte, content []byte) { out = append(append(out, id), counted(content)...) }
	section(1, vector(types...))
	section(sectionImport, vector(imports...))
	section(3, vector(functions...))
	if a.table {
		section(4, vector(code(0x70, 0, 1)))
	}
	section(5, vector(code(0, appendNumber(nil, max(a.pages, 1)))))
	if a.globals+len(a.constant) > 0 {
		var globals [][]byte
		for range a.globals {
			globals = append(globals, code(typeI32, 1, i32(0), opEnd))
		}
		for i, name := range a.constant {
			globals = append(globals, code(typeI32, 0, i32(1), opEnd))
			exports = append(exports, code(counted([]byte(name)), externGlobal, appendNumber(nil, uint64(a.globals+i))))
		}
		section(sectionGlobal, vector(globals...))
	}
	section(sectionExport, vector(exports...))
	if a.start > 0 {
		section(8, appendNumber(nil, uint64(len(a.imports)+a.start-1)))
	}
	if a.element {
		section(9, vector(code(0, i32(0), opEnd, vector(appendNumber(nil, uint64(len(a.imports)))))))
	}
	if a.passive {
		section(12, []byte{1})
	}
	section(sectionCode, vector(bodies...))
	if a.passive {
		section(11, vector(code(1, counted([]byte(a.data)))))
	} else if a.data != "" {
		section(11, vector(code(0, i32(dataAt), opEnd, counted([]byte(a.data)))))
	}
	return out
}

// waPC is a module whose __guest_call is body. It imports first the functions
// that are named, and then __guest_response.
func waPC(body []byte, imports ...string) assembly {
	var names []string
	for _, name := range imports {
		names = append(names, "wapc."+name)
	}
	return assembly{
		imports:  append(names, "wapc.__guest_response"),
		function: []function{{export: exportGuestCall, parameters: 2, results: 1, body: body}},
	}
}

// answering is a module that runs before and then answers with text.
func answering(text string, before []byte, imports ...string) assembly {
	a := waPC(code(before, i32(dataAt), i32(int32(len(text))), call(len(imports)), i32(1)), imports...)
	a.data = text
	return a
}
