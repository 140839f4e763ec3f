package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// RegoMode says what a module that was compiled from Rego is given and what it
// answers. The values are those of executionMode in metadata.
type RegoMode string

// The modes.
const (
	// ModeOPA gives input {request} and the settings as data, with what the policy
	// may read under data.kubernetes; the answer is an AdmissionReview.
	ModeOPA RegoMode = "opa"
	// ModeGatekeeper gives input {parameters, review}, with what the policy may
	// read under data.inventory; the answer is a list of violations.
	ModeGatekeeper RegoMode = "gatekeeper"
)

func (m RegoMode) valid() bool { return m == ModeOPA || m == ModeGatekeeper }

// ContextData gives a policy in Rego what it may read of the cluster. It is asked
// for each evaluation, and its answer is read into a module only where the version
// is another one than that of the answer before.
type ContextData interface {
	// Data returns one JSON object, of the form that the mode of the policy asks
	// for, and what tells it from all earlier ones. The object is shared and must
	// not be changed. An error ends the evaluation. It is called from many
	// goroutines.
	Data(ctx context.Context) (data json.RawMessage, version string, err error)
}

// RegoInfo is what a module that was compiled from Rego says of itself.
type RegoInfo struct {
	// ABI is the version of the interface, such as 1.3.
	ABI string
	// Entrypoints are the rules that it answers for, in the order of their numbers.
	// The first one is evaluated.
	Entrypoints []string
	// Builtins are the functions that it asks its host for, sorted.
	Builtins []string
	// Missing says of each function that is not offered here why it is not. Compile
	// refuses a module with any.
	Missing []string
}

// InspectRego tells of a module that was compiled from Rego, without judging
// whether it can be run.
func (e *Engine) InspectRego(ctx context.Context, module []byte) (RegoInfo, error) {
	m, err := e.prepareRego(ctx, module, CompileOptions{Name: "it"})
	if err != nil {
		return RegoInfo{}, err
	}
	info := *m.rego
	return info, m.Close(ctx)
}

func (e *Engine) prepareRego(ctx context.Context, module []byte, options CompileOptions) (*Module, error) {
	m, module, err := e.prepare(module, options)
	if err != nil {
		return nil, err
	}
	if m.kind != KindRego {
		return nil, fmt.Errorf("it is %s, and was not compiled from Rego", m.kind)
	}
	return m, e.start(ctx, m, module, options)
}

// Rego is what the module says of itself if it was compiled from Rego, else nil.
func (m *Module) Rego() *RegoInfo {
	if m.rego == nil {
		return nil
	}
	info := *m.rego
	info.Entrypoints, info.Builtins = slices.Clone(info.Entrypoints), slices.Clone(info.Builtins)
	return &info
}
