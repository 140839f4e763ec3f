package module

import (
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
)

// executionModes are the kinds of modules by how metadata and -e name them.
var executionModes = map[string]wasm.Kind{
	"wapc": wasm.KindWaPC, "kubewarden": wasm.KindWaPC, module.WaPC: wasm.KindWaPC, module.WASI: wasm.KindWASI,
	module.OPA: wasm.KindRego, module.Gatekeeper: wasm.KindRego,
}

// runtime finds out how a module is run: as -e says, else as its metadata says,
// else as what it is. The mode is empty for a module that is not Rego.
func (f *policyRunFlags) runtime(raw []byte, metadata *module.Metadata) (wasm.RegoMode, error) {
	kind, err := wasm.Detect(raw)
	if err != nil {
		return "", err
	}
	wanted := f.mode
	if wanted == "" && metadata != nil {
		wanted = metadata.ExecutionMode
	}
	if err := fits(kind, wanted); err != nil {
		if _, known := executionModes[f.mode]; f.mode != "" && !known {
			return "", usage.Errorf("%v", err)
		}
		return "", err
	}
	switch {
	case f.raw && wanted == module.Gatekeeper:
		return "", usage.Errorf("a policy of the mode gatekeeper judges an AdmissionRequest, and nothing that is --raw")
	case kind == wasm.KindRego:
		return wasm.RegoMode(wanted), nil
	}
	return "", nil
}

// fits says why a module of a kind cannot be run in an execution mode, which may
// be empty.
func fits(kind wasm.Kind, mode string) error {
	wanted, known := executionModes[mode]
	switch {
	case mode == "" && kind == wasm.KindRego:
		return fmt.Errorf("the module was compiled from Rego: say with -e, or in its metadata, whether it is of the mode opa or gatekeeper")
	case mode == "":
		return nil
	case !known:
		return fmt.Errorf("there is no execution mode %q; there are %s", mode, strings.Join([]string{"kubewarden", "wapc", module.WASI, module.OPA, module.Gatekeeper}, ", "))
	case wanted != kind:
		return fmt.Errorf("the module is %s, and not %s, as the execution mode %s says", kind, wanted, mode)
	}
	return nil
}
