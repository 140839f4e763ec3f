package wasm

import "fmt"

const opEnd = 0x0b

// skipOperands skips what follows op. It says whether the instruction changes
// what cannot be put back, a table or which segments are left, and whether it
// is known at all.
func skipOperands(r *reader, op byte) (sticky, known bool) {
	switch {
	case op == 0x02, op == 0x03, op == 0x04: // block, loop, if
		r.number()
	case op <= 0x01, op == 0x05, op == opEnd, op == 0x0f, op == 0x1a, op == 0x1b:
	case op == 0x0c, op == 0x0d, op == 0x10, op == 0x12: // br, br_if, call, return_call
		r.index()
	case op == 0x0e: // br_table
		for n := uint64(r.index()) + 1; n > 0 && r.err == nil; n-- {
			r.index()
		}
	case op == 0x11, op == 0x13: // call_indirect, return_call_indirect
		r.index()
		r.index()
	case op == 0x1c: // select with types
		r.take(uint64(r.index()))
	case op >= 0x20 && op <= 0x25: // variables, table.get
		r.index()
	case op == 0x26: // table.set
		r.index()
		return true, true
	case op >= 0x28 && op <= 0x3e: // loads and stores
		r.number()
		r.number()
	case op == 0x3f, op == 0x40: // memory.size, memory.grow
		r.index()
	case op == 0x41, op == 0x42: // i32.const, i64.const
		r.number()
	case op == 0x43:
		r.take(4)
	case op == 0x44:
		r.take(8)
	case op >= 0x45 && op <= 0xc4: // arithmetic
	case op == 0xd0: // ref.null
		r.number()
	case op == 0xd1:
	case op == 0xd2: // ref.func
		r.index()
	case op == 0xfc:
		return skipBulk(r)
	case op == 0xfd:
		return false, skipVector(r)
	default:
		return false, false
	}
	return false, true
}

func skipBulk(r *reader) (sticky, known bool) {
	switch sub := r.index(); sub {
	case 0, 1, 2, 3, 4, 5, 6, 7: // conversions
	case 8, 10: // memory.init, memory.copy
		r.index()
		r.index()
	case 11, 16: // memory.fill, table.size
		r.index()
	case 9, 13, 15, 17: // data.drop, elem.drop, table.grow, table.fill
		r.index()
		return true, true
	case 12, 14: // table.init, table.copy
		r.index()
		r.index()
		return true, true
	default:
		return false, false
	}
	return false, true
}

func skipVector(r *reader) (known bool) {
	switch sub := r.index(); {
	case sub <= 11, sub == 92, sub == 93: // loads and stores
		r.number()
		r.number()
	case sub == 12, sub == 13: // v128.const, shuffle
		r.take(16)
	case sub >= 21 && sub <= 34: // lanes
		r.byte()
	case sub >= 84 && sub <= 91: // loads and stores of a lane
		r.number()
		r.number()
		r.byte()
	case sub > 255:
		return false
	}
	return true
}

// stickyCode looks for an instruction whose effect outlives a call and cannot
// be put back from outside. It returns why there may be one, or nothing.
func stickyCode(code []byte) string {
	r := &reader{data: code}
	for n := r.index(); n > 0 && r.err == nil; n-- {
		body := &reader{data: r.take(uint64(r.index()))}
		for groups := body.index(); groups > 0 && body.err == nil; groups-- {
			body.index()
			body.byte()
		}
		for body.more() {
			op := body.byte()
			sticky, known := skipOperands(body, op)
			switch {
			case !known:
				return fmt.Sprintf("it holds the instruction %#x, which is not known", op)
			case sticky:
				return "it changes tables or drops segments"
			}
		}
		if body.err != nil {
			return body.err.Error()
		}
	}
	if r.err != nil {
		return r.err.Error()
	}
	return ""
}
