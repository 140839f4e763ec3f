package wasm

import (
	"fmt"
	"strconv"
)

const globalPrefix = "sallyport.global."

// expose returns module with its mutable globals exported, so that they can be
// put back after a call, and the names under which they are. The reason says
// why that is not possible for this module, or is empty.
func (o *outline) expose(module []byte) (exposed []byte, names []string, reason string) {
	if code, ok := o.section(sectionCode); ok {
		if reason := stickyCode(module[code.start:code.end]); reason != "" {
			return nil, nil, reason
		}
	}
	var entries []byte
	for i, g := range o.globals {
		if !g.mutable {
			continue
		}
		switch g.valueType {
		case typeI32, typeI64, typeF32, typeF64:
		default:
			return nil, nil, fmt.Sprintf("its mutable global %d is a vector or a reference", i)
		}
		name := globalPrefix + strconv.Itoa(i)
		if _, taken := o.exports[name]; taken {
			return nil, nil, "it exports " + name
		}
		names = append(names, name)
		entries = appendNumber(entries, uint64(len(name)))
		entries = append(append(entries, name...), externGlobal)
		entries = appendNumber(entries, uint64(i))
	}
	exports, ok := o.section(sectionExport)
	if !ok {
		return nil, nil, "it has no exports"
	}
	if len(names) == 0 {
		return module, nil, ""
	}
	r := &reader{data: module[exports.start:exports.end]}
	count := r.index()
	content := appendNumber(nil, uint64(count)+uint64(len(names)))
	content = append(append(content, r.data[r.at:]...), entries...)

	exposed = make([]byte, 0, len(module)+len(entries)+16)
	exposed = append(append(exposed, module[:exports.header]...), sectionExport)
	exposed = appendNumber(exposed, uint64(len(content)))
	exposed = append(append(exposed, content...), module[exports.end:]...)
	return exposed, names, ""
}
