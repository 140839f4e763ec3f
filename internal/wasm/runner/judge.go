package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// longestWait is how long a request waits for a module that is being loaded: long
// enough for one that is at hand, as when only the settings change.
const longestWait = 2 * time.Second

// wait waits until loading a policy has come to something.
func (h *Host) wait(ctx context.Context, s *state) {
	select {
	case <-s.settled:
		return
	default:
	}
	select {
	case <-s.settled:
	case <-ctx.Done():
	case <-h.options.Clock.After(min(longestWait, s.policy.Timeout)):
	}
}

// Caller answers what a module asks of its host while it judges one request.
type Caller interface {
	// Call is as Context has it.
	Call(ctx context.Context, policy *contextgate.Policy, call hostcall.Call) ([]byte, error)
}

type callerKey struct{}

// call answers what a module asks: by the cluster that the request is for, where
// there is a request.
func (h *Host) call(ctx context.Context, p *Policy, asked wasm.Call) ([]byte, error) {
	caller, ok := ctx.Value(callerKey{}).(Caller)
	if !ok {
		caller = h.options.Context
	}
	return caller.Call(ctx, p.Context, hostcall.Call{Binding: asked.Binding, Namespace: asked.Namespace, Operation: asked.Operation, Payload: asked.Payload})
}

// gate is what policies that read all at once, as those in Rego do, read through.
func (h *Host) gate(ctx context.Context) (*contextgate.Gate, error) {
	caller, ok := ctx.Value(callerKey{}).(Caller)
	if !ok {
		caller = h.options.Context
	}
	if gated, ok := caller.(interface{ Through() *contextgate.Gate }); ok {
		return gated.Through(), nil
	}
	return nil, errors.New("the policy reads objects, and there is no cluster to read them from")
}

// Judge asks the module of a policy about a request, which is an AdmissionRequest
// in JSON. calls answers what the module asks meanwhile; where it is nil, the
// Context of the Host does. An error says that the module did not answer.
func (h *Host) Judge(ctx context.Context, p *Policy, request json.RawMessage, calls Caller) (wasm.Response, error) {
	s := h.find(p)
	if s == nil {
		return wasm.Response{}, &NotReady{Policy: p.String(), Loading: true}
	}
	h.wait(ctx, s)
	l, err := s.get()
	if err != nil {
		return wasm.Response{}, err
	}
	if calls != nil {
		ctx = context.WithValue(ctx, callerKey{}, calls)
	}
	done, err := h.turns.take(ctx, h.options.Clock, p)
	if err != nil {
		return wasm.Response{}, err
	}
	defer done()
	response, err := l.evaluator.Validate(ctx, request, p.Settings)
	var failed *wasm.Error
	if errors.As(err, &failed) {
		// Which policy it is stands beside it already.
		err = fmt.Errorf("the module failed (%s): %w", failed.Reason, failed.Err)
	}
	return response, err
}

// Try loads a policy that is not in force, to find out what would become of it,
// and forgets it again. A *SettingsRefused is the module's own refusal; every
// other error may pass. It does not outlast ctx: a module that takes longer is
// looked at for nothing.
func (h *Host) Try(ctx context.Context, p *Policy) (Info, error) {
	trials := h.trials.of(p)
	select {
	case trials <- struct{}{}:
	case <-ctx.Done():
		return Info{}, errors.New("other policies are being tried; its module was not looked at in time")
	}
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.busy.Add(1)
	}
	h.mu.Unlock()
	if closed {
		<-trials
		return Info{}, errors.New("modules are not run any more")
	}
	type outcome struct {
		info Info
		err  error
	}
	tried := make(chan outcome, 1)
	go func() {
		defer func() { <-trials; h.busy.Done() }()
		l, _, err := h.load(ctx, p)
		if err != nil {
			tried <- outcome{err: err}
			return
		}
		wasm.CloseEvaluator(l.evaluator)
		h.mu.Lock()
		h.release(l.module)
		h.mu.Unlock()
		tried <- outcome{info: l.Info}
	}()
	select {
	case o := <-tried:
		return o.info, o.err
	case <-ctx.Done():
		return Info{}, errors.New("its module could not be looked at in time")
	}
}
