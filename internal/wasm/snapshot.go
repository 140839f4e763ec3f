package wasm

import "bytes"

// snapshot is an instance as it was after it was initialised, before it saw
// anything of an evaluation. Memory and mutable globals are all that is left of
// a call in a module for which expose gave no reason against: tables and
// segments stay as they are, and the host keeps no state for it.
type snapshot struct {
	memory  []byte
	globals []uint64
}

// resetChunk is how much is compared at a time. Most of a memory is not written
// in a call, and reading it is cheaper than writing it.
const resetChunk = 4096

// takeSnapshot keeps what i holds. The reason says why it could not.
func takeSnapshot(i *instance) (_ *snapshot, reason string) {
	memory := i.module.Memory()
	content, ok := memory.Read(0, memory.Size())
	if !ok {
		return nil, "its memory cannot be read"
	}
	s := &snapshot{memory: bytes.Clone(content)}
	for _, global := range i.globals {
		s.globals = append(s.globals, global.Get())
	}
	return s, ""
}

// apply makes a new instance, that was not initialised, one that was.
func (s *snapshot) apply(i *instance) error {
	memory := i.module.Memory()
	if have := memory.Size(); uint64(have) < uint64(len(s.memory)) {
		memory.Grow((uint32(len(s.memory)) - have) >> 16)
	}
	if !s.restore(i) {
		return errSnapshot
	}
	return nil
}

// restore puts memory and globals back. It cannot where the memory has grown:
// a module sees the size of its memory, and that cannot be made smaller.
func (s *snapshot) restore(i *instance) bool {
	memory := i.module.Memory()
	content, ok := memory.Read(0, memory.Size())
	if !ok || len(content) != len(s.memory) {
		return false
	}
	for at := 0; at < len(content); at += resetChunk {
		to := min(at+resetChunk, len(content))
		if !bytes.Equal(content[at:to], s.memory[at:to]) {
			copy(content[at:to], s.memory[at:to])
		}
	}
	for n, global := range i.globals {
		global.Set(s.globals[n])
	}
	return true
}
