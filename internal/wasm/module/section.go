// Package module reads policy modules without running them: the custom sections
// of a WebAssembly file, and the metadata that its author put into one of them.
package module

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MetadataSection is the name of the custom section that holds the metadata.
const MetadataSection = "io.kubewarden.metadata"

// MaxMetadata bounds the metadata of a module.
const MaxMetadata = 1 << 20

// maxSections bounds how many sections a module has.
const maxSections = 10_000

// The first eight bytes of a module and of a component.
var (
	magic     = []byte("\x00asm")
	preamble  = []byte("\x00asm\x01\x00\x00\x00")
	component = []byte("\x00asm\x0d\x00\x01\x00")
)

// section is one section of a module.
type section struct {
	// start and end are where it stands, with its head.
	start, end int
	id         byte
	// name and data belong to custom sections.
	name string
	data []byte
}

// sections lists the sections of a module. Nothing in it is copied.
func sections(wasm []byte) ([]section, error) {
	switch {
	case !bytes.HasPrefix(wasm, magic):
		return nil, errors.New("it is not WebAssembly: the first four bytes are others")
	case bytes.HasPrefix(wasm, component):
		return nil, errors.New("it is a WebAssembly component; a core module is needed")
	case !bytes.HasPrefix(wasm, preamble):
		return nil, errors.New("it is WebAssembly of a version other than 1, or was cut off")
	}
	var all []section
	for at := len(preamble); at < len(wasm); {
		if len(all) >= maxSections {
			return nil, fmt.Errorf("it has more than %d sections", maxSections)
		}
		s := section{start: at, id: wasm[at]}
		size, n := length(wasm[at+1:])
		body := at + 1 + n
		if n == 0 || uint64(size) > uint64(len(wasm)-body) {
			return nil, fmt.Errorf("it was cut off or damaged: the section at byte %d does not end in it", at)
		}
		s.end = body + int(size)
		if s.id == 0 {
			content := wasm[body:s.end]
			size, n := length(content)
			if n == 0 || uint64(size) > uint64(len(content)-n) || !utf8.Valid(content[n:n+int(size)]) {
				return nil, fmt.Errorf("it is damaged: the custom section at byte %d has no name", at)
			}
			s.name, s.data = string(content[n:n+int(size)]), content[n+int(size):]
		}
		all = append(all, s)
		at = s.end
	}
	return all, nil
}

// length reads a number of 32 bits as WebAssembly writes lengths, and how many
// bytes it took; none if there is no number.
func length(data []byte) (uint32, int) {
	n, size := binary.Uvarint(data[:min(len(data), 5)])
	if size <= 0 || n > 1<<32-1 {
		return 0, 0
	}
	return uint32(n), size
}

// find gives the metadata section of a module; nil if there is none.
func find(wasm []byte) (*section, error) {
	all, err := sections(wasm)
	if err != nil {
		return nil, err
	}
	var found *section
	for i := range all {
		if all[i].id == 0 && all[i].name == MetadataSection {
			if found != nil {
				return nil, fmt.Errorf("it has two sections %s, and which one holds is not known; annotate it again", MetadataSection)
			}
			found = &all[i]
		}
	}
	if found != nil && len(found.data) > MaxMetadata {
		return nil, fmt.Errorf("its metadata has %d bytes; %d are read at most", len(found.data), MaxMetadata)
	}
	return found, nil
}

// replace gives the module with the metadata in place of what it had.
func replace(wasm, metadata []byte) ([]byte, error) {
	all, err := sections(wasm)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(wasm)+len(metadata)+64)
	out = append(out, preamble...)
	for _, s := range all {
		if s.id != 0 || s.name != MetadataSection {
			out = append(out, wasm[s.start:s.end]...)
		}
	}
	content := binary.AppendUvarint(nil, uint64(len(MetadataSection)))
	content = append(append(content, MetadataSection...), metadata...)
	out = binary.AppendUvarint(append(out, 0), uint64(len(content)))
	return append(out, content...), nil
}
