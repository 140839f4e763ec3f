package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tetratelabs/wazero/sys"
)

// ProtocolV1 is the version of the protocol that is spoken here.
const ProtocolV1 = "v1"

// Evaluator judges requests with a module, for one policy. It is safe for
// concurrent use. An error is always an *Error.
type Evaluator interface {
	// Validate judges a request with the settings of the policy. Both are JSON;
	// settings may be nil.
	Validate(ctx context.Context, request, settings json.RawMessage) (Response, error)
	// ValidateSettings asks the module whether it takes the settings.
	ValidateSettings(ctx context.Context, settings json.RawMessage) (SettingsResponse, error)
	// ProtocolVersion asks the module for the version of the protocol it speaks.
	// A version that is not spoken here is an error.
	ProtocolVersion(ctx context.Context) (string, error)
}

// EvaluatorOptions are about one policy that uses a module.
type EvaluatorOptions struct {
	// Policy names the policy in errors and for the Observer.
	Policy string
	// HostCall answers what the module asks for. If nil, all of it is denied.
	HostCall HostCall
	// Observer may be nil.
	Observer Observer
	// Data is what a policy in Rego may read. If nil, it may read nothing. It is for
	// a module that was compiled from Rego, and no other.
	Data ContextData
	// Deadline is how long an evaluation may take, if that is less than the engine
	// allows.
	Deadline time.Duration
}

type evaluator struct {
	module   *Module
	name     string
	hostCall HostCall
	observer Observer
	limits   Limits
	bucket   bucket
	// madeUp is the bucket of evaluations that may be made up.
	madeUp    bucket
	rego      *regoPolicy
	abandoned atomic.Int64
}

// Evaluator returns what judges requests for a policy with this module.
func (m *Module) Evaluator(options EvaluatorOptions) Evaluator {
	p := &evaluator{module: m, name: options.Policy, hostCall: options.HostCall, observer: options.Observer, limits: m.engine.limits}
	if p.name == "" {
		p.name = m.name
	}
	if p.observer == nil {
		p.observer = silent{}
	}
	if options.Deadline > 0 {
		p.limits.Deadline = min(p.limits.Deadline, options.Deadline)
	}
	if m.kind == KindRego {
		p.rego = newRegoPolicy(p, options.Data)
		m.policies.add(p.rego)
	}
	return p
}

// CloseEvaluator ends an Evaluator of a module that goes on to be used. One of a
// module that was compiled from Rego has instances of its own, which are given
// back by it.
func CloseEvaluator(e Evaluator) {
	if p, ok := e.(*evaluator); ok && p.rego != nil {
		p.module.policies.remove(p.rego)
		p.rego.close()
	}
}

func (p *evaluator) Validate(ctx context.Context, request, settings json.RawMessage) (Response, error) {
	if p.rego != nil {
		return p.validateRego(ctx, request, settings)
	}
	payload, err := p.payload(request, settings)
	if err != nil {
		return Response{}, p.fail(operationValidate, ReasonInput, err)
	}
	answer, err := p.evaluate(ctx, operationValidate, payload, nil)
	if err != nil {
		return Response{}, err
	}
	response, err := DecodeResponse(answer)
	if err != nil {
		return Response{}, p.fail(operationValidate, ReasonAnswer, err)
	}
	return response, nil
}

func (p *evaluator) ValidateSettings(ctx context.Context, settings json.RawMessage) (SettingsResponse, error) {
	payload, err := settingsPayload(settings)
	if err == nil {
		err = p.module.takes(payload)
	}
	if err != nil {
		return SettingsResponse{}, p.fail(operationValidateSettings, ReasonInput, err)
	}
	if p.rego != nil {
		// Rego has no rule for it.
		if err := p.module.checkSettings(payload); err != nil {
			return SettingsResponse{Message: err.Error()}, nil
		}
		return SettingsResponse{Valid: true}, nil
	}
	answer, err := p.evaluate(ctx, operationValidateSettings, payload, nil)
	if err != nil {
		return SettingsResponse{}, err
	}
	response, err := DecodeSettingsResponse(answer)
	if err != nil {
		return SettingsResponse{}, p.fail(operationValidateSettings, ReasonAnswer, err)
	}
	return response, nil
}

func (p *evaluator) ProtocolVersion(ctx context.Context) (string, error) {
	if p.module.kind != KindWaPC {
		// Only waPC has an operation for it: of the others there is one version.
		return ProtocolV1, nil
	}
	answer, err := p.evaluate(ctx, operationProtocolVersion, nil, nil)
	if err != nil {
		return "", err
	}
	if version := string(bytes.TrimSpace(answer)); version != `"`+ProtocolV1+`"` {
		return "", p.fail(operationProtocolVersion, ReasonAnswer, fmt.Errorf("the module speaks version %s of the protocol; %q is spoken here", tidy(version, 64), ProtocolV1))
	}
	return ProtocolV1, nil
}

func (p *evaluator) fail(operation string, reason Reason, err error) *Error {
	return &Error{Policy: p.name, Operation: operation, Reason: reason, Err: err}
}

func (p *evaluator) payload(request, settings json.RawMessage) ([]byte, error) {
	settings, err := settingsPayload(settings)
	if err != nil {
		return nil, err
	}
	if err := p.module.takes(settings); err != nil {
		return nil, err
	}
	return validatePayload(request, settings)
}

// validatePayload joins request and settings. Both are checked to be one JSON
// value, so that neither can write into the other's place.
func validatePayload(request, settings json.RawMessage) ([]byte, error) {
	if !jsontext.Value(request).IsValid() {
		return nil, fmt.Errorf("the request is not valid JSON%s", fault(request))
	}
	settings, err := settingsPayload(settings)
	if err != nil {
		return nil, err
	}
	payload := make([]byte, 0, len(request)+len(settings)+32)
	payload = append(append(payload, `{"request":`...), request...)
	payload = append(append(payload, `,"settings":`...), settings...)
	return append(payload, '}'), nil
}

func settingsPayload(settings json.RawMessage) ([]byte, error) {
	switch trimmed := bytes.TrimSpace(settings); {
	case len(trimmed) == 0, string(trimmed) == "null":
		return []byte("{}"), nil
	case trimmed[0] != '{' || !jsontext.Value(trimmed).IsValid():
		return nil, fmt.Errorf("the settings are not a JSON object%s", fault(trimmed))
	default:
		return trimmed, nil
	}
}

// evaluate calls the module and returns its answer. The settings are those that
// are not part of the payload.
func (p *evaluator) evaluate(ctx context.Context, operation string, payload, settings []byte) (_ []byte, err error) {
	began := time.Now()
	defer func() {
		var e *Error
		reason := Reason("")
		if errors.As(err, &e) {
			reason = e.Reason
		}
		p.observer.Evaluated(p.name, operation, time.Since(began), reason)
	}()
	if evaluationOf(ctx) != nil {
		return nil, p.fail(operation, ReasonHost, ErrNested)
	}
	if len(payload) > p.limits.PayloadBytes {
		return nil, p.fail(operation, ReasonLimit, fmt.Errorf("request and settings have %d bytes; at most %d are given to a module", len(payload), p.limits.PayloadBytes))
	}
	ctx, cancel := context.WithTimeout(ctx, p.limits.Deadline)
	defer cancel()
	state := &evaluation{policy: p, limits: &p.limits, operation: operation, payload: payload}
	state.ctx = context.WithValue(ctx, evaluationKey{}, state)
	instances := p.module.calls
	switch {
	case p.rego != nil:
		s, err := p.rego.acquire(state, settings)
		if err != nil {
			return nil, failure(ctx, p.name, operation, nil, err)
		}
		defer p.rego.release(s)
		instances = s.pool
	case p.module.kind == KindWASI && operation == operationValidateSettings:
		instances = p.module.settings
	}
	i, err := instances.take(ctx)
	if err != nil {
		e := failure(ctx, p.name, operation, nil, err)
		if e.Reason != ReasonDeadline && e.Reason != ReasonCanceled {
			e.Reason, e.Err = ReasonHost, fmt.Errorf("there is no instance to run: %w", err)
		}
		return nil, e
	}
	if p.module.kind == KindWASI {
		state.stdin = payload
	}
	accepted, err := i.run(state)
	// An instance whose time was up may still be closed a moment later.
	instances.give(i, err == nil && ctx.Err() == nil)
	state.finish()
	return p.conclude(ctx, state, accepted, err)
}

// conclude makes an answer or an error of what a call came to.
func (p *evaluator) conclude(ctx context.Context, state *evaluation, accepted bool, err error) ([]byte, error) {
	var exit *sys.ExitError
	if p.module.kind == KindWASI && state.stopped == nil && errors.As(err, &exit) && exit.ExitCode() == 0 {
		return state.response, nil
	}
	if err != nil {
		e := failure(ctx, p.name, state.operation, state, err)
		if state.complaint != "" && (e.Reason == ReasonExit || e.Reason == ReasonTrap) {
			e.Err = fmt.Errorf("%w; it wrote: %s", e.Err, state.complaint)
		}
		return nil, e
	}
	if !accepted {
		message := "without saying why"
		if len(state.guestError) > 0 {
			message = tidy(string(state.guestError), longestError)
		}
		return nil, p.fail(state.operation, ReasonGuest, errors.New("the module answered with an error: "+message))
	}
	return state.response, nil
}
