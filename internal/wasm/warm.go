package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
)

// Warm is what a module is called with before the state is taken that all
// evaluations begin with: protocol_version, then validate_settings, then
// validate. The first call in a language with a large runtime takes several
// times as long as later ones, for what it sets up then.
//
// It is for a policy that would judge the same after Request as without, which
// whoever deploys it must know. A module that asks its host for something
// meanwhile, crashes or fails is not warmed: it may have kept that it was denied.
// A warmed module takes no other settings.
type Warm struct {
	// Request is seen by the module, but was made by nobody. If nil, it is a
	// request without an object.
	Request json.RawMessage
	// Settings are those of the policy.
	Settings json.RawMessage
}

var neutralRequest = json.RawMessage(`{"uid":"00000000-0000-0000-0000-000000000000","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"operation":"CREATE","userInfo":{},"object":{}}`)

var (
	errWarmAsks     = errors.New("it asks its host for something")
	errWarmSettings = errors.New("the settings are not those that the module was warmed with")
)

// warm makes the calls of w in i, and says why i is not fit to begin with.
func (m *Module) warm(ctx context.Context, i *instance, w *Warm) (settings []byte, err error) {
	request := w.Request
	if request == nil {
		request = neutralRequest
	}
	payload, err := validatePayload(request, w.Settings)
	if err != nil {
		return nil, err
	}
	settings, err = settingsPayload(w.Settings)
	if err != nil {
		return nil, err
	}
	asked := false
	p := &evaluator{module: m, name: m.name, observer: silent{}, limits: m.engine.limits, hostCall: func(context.Context, Call) ([]byte, error) {
		asked = true
		return nil, ErrDenied
	}}
	steps := []struct {
		operation string
		payload   []byte
	}{
		{operationProtocolVersion, nil}, {operationValidateSettings, settings}, {operationValidate, payload},
	}
	for _, step := range steps {
		state := &evaluation{policy: p, limits: &p.limits, operation: step.operation, payload: step.payload}
		state.ctx = context.WithValue(ctx, evaluationKey{}, state)
		accepted, err := i.run(state)
		if _, err := p.conclude(ctx, state, accepted, err); err != nil {
			return nil, err
		}
		// The goroutine of a host call has ended when its evaluation has.
		if asked {
			return nil, errWarmAsks
		}
	}
	return bytes.Clone(settings), nil
}

// Warmed says whether the module was warmed, and if not, why.
func (m *Module) Warmed() (warmed bool, why string) { return m.cold == "", m.cold }

// takes checks settings, as they are given to the module.
func (m *Module) takes(settings []byte) error {
	if m.cold == "" && !bytes.Equal(settings, m.warmSettings) {
		return errWarmSettings
	}
	return nil
}
