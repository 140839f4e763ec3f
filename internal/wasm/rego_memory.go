package wasm

import (
	"errors"
	"slices"
)

const sectionMemory = 5

// ownMemory returns module with the memory that it imports from env defined in it
// instead. Each instance has its own memory so, and no name that two could share.
func (o *outline) ownMemory(module []byte) ([]byte, error) {
	at := slices.IndexFunc(o.imports, func(i imported) bool { return i.kind == externMemory && i.String() == importMemory })
	if at < 0 {
		return module, nil
	}
	section, ok := o.section(sectionImport)
	if _, own := o.section(sectionMemory); own || !ok {
		return nil, errors.New("it imports a memory and has one of its own")
	}
	imports, limits, err := withoutMemory(module[section.start:section.end])
	if err != nil {
		return nil, err
	}
	out := append(append([]byte(nil), module[:section.header]...), sectionImport)
	out = append(appendNumber(out, uint64(len(imports))), imports...)
	memory := append([]byte{sectionMemory}, appendNumber(nil, uint64(len(limits)+1))...)
	memory = append(append(memory, 1), limits...)
	placed := false
	for _, s := range o.sections {
		if s.start <= section.start {
			continue
		}
		// Sections stand in the order of their numbers, custom ones anywhere.
		if !placed && s.id > sectionMemory {
			out, placed = append(out, memory...), true
		}
		out = append(out, module[s.header:s.end]...)
	}
	if !placed {
		out = append(out, memory...)
	}
	return out, nil
}

// withoutMemory gives a section of imports back without those of memories, and
// the limits of the one that there was.
func withoutMemory(content []byte) (imports, limits []byte, err error) {
	r := &reader{data: content}
	var entries []byte
	kept := uint64(0)
	for n := r.index(); n > 0 && r.err == nil; n-- {
		begin := r.at
		r.name()
		r.name()
		kind := r.byte()
		switch kind {
		case externFunction:
			r.index()
		case externTable:
			r.byte()
			r.limits()
		case externMemory:
			from := r.at
			r.limits()
			if limits != nil {
				return nil, nil, errors.New("it imports two memories")
			}
			limits = content[from:r.at]
			continue
		case externGlobal:
			r.take(2)
		}
		entries, kept = append(entries, content[begin:r.at]...), kept+1
	}
	return append(appendNumber(nil, kept), entries...), limits, r.err
}
