package wasm

import (
	"bytes"
	"errors"
	"fmt"
)

// The sections that are read here, by their numbers in the binary format.
const (
	sectionImport = 2
	sectionGlobal = 6
	sectionExport = 7
	sectionCode   = 10
	sectionLast   = 12
)

// What is imported and exported, by number.
const (
	externFunction = iota
	externTable
	externMemory
	externGlobal
)

const (
	typeI32  = 0x7f
	typeI64  = 0x7e
	typeF32  = 0x7d
	typeF64  = 0x7c
	typeV128 = 0x7b
)

var (
	magic       = []byte{0, 'a', 's', 'm'}
	coreVersion = []byte{1, 0, 0, 0}
)

type section struct {
	id         byte
	start, end int // of what it holds
	header     int // where its number stands
}

type imported struct {
	module, name string
	kind         byte
}

func (i imported) String() string { return i.module + "." + i.name }

type global struct {
	valueType byte
	mutable   bool
}

// outline is what a module says of itself, read without compiling it.
type outline struct {
	sections []section
	imports  []imported
	exports  map[string]byte
	globals  []global
}

func (o *outline) exportsFunction(name string) bool {
	kind, ok := o.exports[name]
	return ok && kind == externFunction
}

func (o *outline) section(id byte) (section, bool) {
	for _, s := range o.sections {
		if s.id == id {
			return s, true
		}
	}
	return section{}, false
}

// readOutline reads the sections, imports, exports and globals of a module. It
// checks no more than it needs for that: validating is the compiler's work.
func readOutline(module []byte) (*outline, error) {
	if len(module) == 0 {
		return nil, errors.New("it is empty; a WebAssembly module was expected")
	}
	if n := min(len(module), len(magic)); !bytes.Equal(module[:n], magic[:n]) {
		return nil, fmt.Errorf("it is not WebAssembly: it begins with %q; a module begins with %q", module[:n], magic)
	}
	if len(module) < len(magic)+len(coreVersion) {
		return nil, errCut
	}
	if version := module[4:8]; !bytes.Equal(version, coreVersion) {
		if version[2] == 1 {
			return nil, errors.New("it is a WebAssembly component; a core module is expected")
		}
		return nil, fmt.Errorf("its version of the binary format is % x; % x is expected", version, coreVersion)
	}
	o := &outline{exports: map[string]byte{}}
	r := &reader{data: module, at: 8}
	for r.more() {
		s := section{header: r.at}
		s.id = r.byte()
		size := r.index()
		s.start = r.at
		r.take(uint64(size))
		s.end = r.at
		if r.err != nil {
			return nil, fmt.Errorf("section %d, at byte %d of %d: %w", s.id, s.header, len(module), r.err)
		}
		if s.id > sectionLast {
			return nil, fmt.Errorf("section %d, at byte %d, is of no kind that is known", s.id, s.header)
		}
		o.sections = append(o.sections, s)
		if err := o.read(s, module[s.start:s.end]); err != nil {
			return nil, fmt.Errorf("section %d, at byte %d: %w", s.id, s.header, err)
		}
	}
	return o, nil
}

func (o *outline) read(s section, content []byte) error {
	r := &reader{data: content}
	switch s.id {
	case sectionImport:
		for n := r.index(); n > 0 && r.err == nil; n-- {
			i := imported{module: r.name(), name: r.name(), kind: r.byte()}
			switch i.kind {
			case externFunction:
				r.index()
			case externTable:
				r.byte()
				r.limits()
			case externMemory:
				r.limits()
			case externGlobal:
				r.take(2)
			default:
				r.fail(fmt.Errorf("the import %s is of kind %d, which is not known", i, i.kind))
			}
			o.imports = append(o.imports, i)
		}
	case sectionGlobal:
		for n := r.index(); n > 0 && r.err == nil; n-- {
			o.globals = append(o.globals, global{valueType: r.byte(), mutable: r.byte() == 1})
			skipConstant(r)
		}
	case sectionExport:
		for n := r.index(); n > 0 && r.err == nil; n-- {
			name, kind := r.name(), r.byte()
			r.index()
			o.exports[name] = kind
		}
	}
	return r.err
}

// skipConstant skips the expression that a global begins with.
func skipConstant(r *reader) {
	for r.err == nil {
		op := r.byte()
		if op == opEnd {
			return
		}
		if _, known := skipOperands(r, op); !known {
			r.fail(fmt.Errorf("a global begins with the instruction %#x, which is not known", op))
		}
	}
}
