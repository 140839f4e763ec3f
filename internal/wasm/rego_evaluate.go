package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// keyKubernetes is where a policy of ModeOPA finds what it may read, in the data
// that its settings are as well.
const keyKubernetes = "kubernetes"

// input is what a module made from Rego is asked about.
func (m *Module) input(request, settings []byte) ([]byte, error) {
	if !jsontext.Value(request).IsValid() {
		return nil, fmt.Errorf("the request is not valid JSON%s", fault(request))
	}
	if m.mode == ModeOPA {
		return append(append([]byte(`{"request":`), request...), '}'), nil
	}
	out := append(append([]byte(`{"parameters":`), settings...), `,"review":`...)
	return append(append(out, request...), '}'), nil
}

// checkSettings says what is wrong with settings that are a JSON object.
func (m *Module) checkSettings(settings []byte) error {
	var top map[string]jsontext.Value
	if err := json.Unmarshal(settings, &top); err != nil {
		return fmt.Errorf("the settings cannot be read: %w", err)
	}
	if _, taken := top[keyKubernetes]; taken && m.mode == ModeOPA {
		return fmt.Errorf("the settings have a field %q, under which the policy finds what it reads of the cluster; give it another name", keyKubernetes)
	}
	return nil
}

func (p *evaluator) validateRego(ctx context.Context, request, settings json.RawMessage) (Response, error) {
	settings, err := settingsPayload(settings)
	if err == nil {
		err = p.module.checkSettings(settings)
	}
	var input []byte
	if err == nil {
		input, err = p.module.input(request, settings)
	}
	if err != nil {
		return Response{}, p.fail(operationValidate, ReasonInput, err)
	}
	answer, err := p.evaluate(ctx, operationValidate, input, settings)
	if err != nil {
		return Response{}, err
	}
	response, err := decodeRego(p.module.mode, p.module.rego.Entrypoints[0], answer, request)
	if err != nil {
		return Response{}, p.fail(operationValidate, ReasonAnswer, err)
	}
	return response, nil
}

// evaluateRego has an instance that holds the data evaluate the input.
func (i *instance) evaluateRego(state *evaluation) error {
	if i.opa.eval == nil {
		return i.evaluateInSteps(state)
	}
	s, length := i.state, uint32(len(state.payload))
	state.room(i, uint64(s.heap)+uint64(length))
	// The input stands at the end of the data. The module makes what it needs
	// behind it.
	state.put(i.module, s.heap, state.payload, "the input")
	const reserved, entrypoint, asJSON = 0, 0, 0
	text, err := invoke(state.ctx, i.opa.eval, reserved, entrypoint, s.data, s.heap, length, s.heap+length, asJSON)
	if err != nil {
		return err
	}
	state.response = bytes.Clone(state.line(i.module, text, state.limits.ResponseBytes, "its answer"))
	return nil
}

// room makes the memory of an instance reach to end.
func (e *evaluation) room(i *instance, end uint64) {
	memory := i.module.Memory()
	if have := uint64(memory.Size()); end > have {
		if _, ok := memory.Grow(uint32((end - have + 1<<16 - 1) >> 16)); !ok {
			e.stop(ReasonLimit, fmt.Errorf("the input of %d bytes does not fit into the memory that the module may have", len(e.payload)))
		}
	}
}

// evaluateInSteps is for modules that cannot do it in one call.
func (i *instance) evaluateInSteps(state *evaluation) error {
	o, s := i.opa, i.state
	if _, err := invoke(state.ctx, o.heapSet, s.heap); err != nil {
		return err
	}
	evaluation, err := invoke(state.ctx, o.newContext)
	if err != nil {
		return err
	}
	input := state.load(i.module, state.payload, o.jsonParse, "the input")
	if _, err := invoke(state.ctx, o.setInput, evaluation, input); err != nil {
		return err
	}
	if _, err := invoke(state.ctx, o.setData, evaluation, s.data); err != nil {
		return err
	}
	if _, err := invoke(state.ctx, o.setEntrypoint, evaluation, 0); err != nil {
		return err
	}
	if _, err := invoke(state.ctx, o.run, evaluation); err != nil {
		return err
	}
	result, err := invoke(state.ctx, o.result, evaluation)
	if err != nil {
		return err
	}
	text, err := invoke(state.ctx, o.jsonDump, result)
	if err != nil {
		return err
	}
	state.response = bytes.Clone(state.line(i.module, text, state.limits.ResponseBytes, "its answer"))
	return nil
}
