package wasm

import (
	"errors"
	"fmt"
)

// errCut says that a module ends in the middle of something.
var errCut = errors.New("the module is cut off")

// reader walks the binary format. Once something is wrong it keeps the first
// error and gives zeros, so that callers check once.
type reader struct {
	data []byte
	at   int
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.at = len(r.data)
}

func (r *reader) more() bool { return r.err == nil && r.at < len(r.data) }

func (r *reader) byte() byte {
	if r.at >= len(r.data) {
		r.fail(errCut)
		return 0
	}
	b := r.data[r.at]
	r.at++
	return b
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.data)-r.at) {
		r.fail(errCut)
		return nil
	}
	taken := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return taken
}

// number reads an LEB128 number of up to 64 bits, signed ones too where only
// their length is of interest.
func (r *reader) number() uint64 {
	var value uint64
	for shift := 0; shift < 70; shift += 7 {
		b := r.byte()
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
	r.fail(errors.New("a number is longer than 64 bits"))
	return 0
}

func (r *reader) index() uint32 {
	value := r.number()
	if value > 0xffffffff {
		r.fail(fmt.Errorf("the number %d is larger than 32 bits", value))
		return 0
	}
	return uint32(value)
}

func (r *reader) name() string { return string(r.take(uint64(r.index()))) }

// limits skips the limits of a table or of a memory.
func (r *reader) limits() {
	flags := r.byte()
	r.number()
	if flags&1 != 0 {
		r.number()
	}
}

func appendNumber(b []byte, value uint64) []byte {
	for value >= 0x80 {
		b = append(b, byte(value)|0x80)
		value >>= 7
	}
	return append(b, byte(value))
}
