package wasm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind is the way in which a module is spoken to.
type Kind int

// The kinds of modules.
const (
	KindUnknown Kind = iota
	KindWaPC         // exports __guest_call
	KindWASI         // a command: exports _start
	KindRego         // compiled by OPA
)

func (k Kind) String() string {
	switch k {
	case KindWaPC:
		return "wapc"
	case KindWASI:
		return "wasi"
	case KindRego:
		return "rego"
	}
	return "unknown"
}

const (
	moduleWaPC = "wapc"
	moduleHost = "host"
	moduleWASI = "wasi_snapshot_preview1"
	// moduleJavy is moduleHost by the name under which JavaScript knows it.
	moduleJavy = "kubewarden:javy/host"

	abort = "abort"

	exportGuestCall = "__guest_call"
	exportStart     = "_start"
	exportRego      = "opa_eval_ctx_new"
	exportRegoEval  = "opa_eval"
)

// Detect tells the kind of a module from its imports and exports, without
// compiling it. The error says what is wrong with a module of no kind.
func Detect(module []byte) (Kind, error) {
	o, err := readOutline(module)
	if err != nil {
		return KindUnknown, err
	}
	return o.kind()
}

func (o *outline) kind() (Kind, error) {
	switch {
	case o.exportsFunction(exportGuestCall):
		return KindWaPC, nil
	case o.exportsFunction(exportRego), o.exportsFunction(exportRegoEval):
		return KindRego, nil
	case o.imports != nil && slices.ContainsFunc(o.imports, func(i imported) bool { return i.module == moduleWaPC }):
		return KindUnknown, fmt.Errorf("it imports from %q and so speaks waPC, but does not export the function %s", moduleWaPC, exportGuestCall)
	case o.exportsFunction(exportStart):
		return KindWASI, nil
	}
	return KindUnknown, fmt.Errorf("it exports neither the function %s, as a waPC module does, nor %s, as a WASI command does; its exports are: %s",
		exportGuestCall, exportStart, list(slices.Sorted(maps.Keys(o.exports))))
}

// unknownImports lists what the module imports and given does not hold.
func (o *outline) unknownImports(given map[string]bool) []string {
	var missing []string
	for _, i := range o.imports {
		if i.kind == externMemory && i.String() == importMemory && given[importMemory] {
			continue
		}
		if i.kind != externFunction || !given[i.String()] {
			missing = append(missing, i.String())
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// list writes names for a message: a module may have thousands, of any length.
func list(names []string) string {
	const most = 10
	if len(names) == 0 {
		return "none"
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = tidy(name, 100)
	}
	return strings.Join(quoted, ", ") + more
}
