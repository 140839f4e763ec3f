package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// Call is what a module asks of its host. All of it was chosen by the module.
type Call struct {
	Binding, Namespace, Operation string
	Payload                       []byte
}

func (c Call) String() string {
	return tidy(c.Binding, 64) + "/" + tidy(c.Namespace, 64) + "/" + tidy(c.Operation, 128)
}

// HostCall answers a Call. One evaluation makes one call at a time; many evaluations may
// call at once. Its context ends with the evaluation. The text of an
// error is shown to the module; the module decides what to make of it.
type HostCall func(ctx context.Context, call Call) ([]byte, error)

// mostAbandoned is how many host calls of a policy may go on after the
// evaluations that made them have ended.
const mostAbandoned = 64

var (
	errHostPanic     = errors.New("the host could not answer")
	errTooManyCalls  = errors.New("the evaluation has made all host calls that it may make")
	errTooManyRemain = errors.New("too many earlier host calls of this policy have not ended")
)

// call reads the eight values of a host call from stack and answers it.
func (e *evaluation) call(module api.Module, stack []uint64) ([]byte, error) {
	var names [3]string
	for i, what := range []string{"binding", "namespace", "operation"} {
		name, err := e.text(module, uint32(stack[2*i]), uint32(stack[2*i+1]), what)
		if err != nil {
			return nil, err
		}
		names[i] = name
	}
	length := uint32(stack[7])
	if uint64(length) > uint64(e.limits.HostCallBytes) {
		return nil, fmt.Errorf("the payload of a host call has %d bytes; at most %d are accepted", length, e.limits.HostCallBytes)
	}
	payload := e.read(module, uint32(stack[6]), length, "the payload of a host call")
	if e.policy == nil || e.policy.hostCall == nil {
		return nil, ErrDenied
	}
	if e.hostCalls++; e.hostCalls > e.limits.HostCalls {
		return nil, fmt.Errorf("%w: %d", errTooManyCalls, e.limits.HostCalls)
	}
	// The host may hold on to the payload longer than the memory lasts.
	return e.ask(Call{Binding: names[0], Namespace: names[1], Operation: names[2], Payload: bytes.Clone(payload)})
}

type hostAnswer struct {
	content []byte
	err     error
}

// ask waits for the host no longer than the evaluation lasts, even if the host
// does not heed its context.
func (e *evaluation) ask(call Call) ([]byte, error) {
	p, began := e.policy, time.Now()
	a, ended := p.await(e.ctx, func() ([]byte, error) { return p.hostCall(e.ctx, call) }, "host call "+call.String())
	if !ended {
		if a.err == nil && len(a.content) > e.limits.HostCallBytes {
			a.err = fmt.Errorf("the answer to the host call has %d bytes; at most %d are given", len(a.content), e.limits.HostCallBytes)
		}
		p.observer.HostCalled(p.name, call, time.Since(began), a.err)
		if a.err != nil {
			return nil, a.err
		}
		return a.content, nil
	}
	p.observer.HostCalled(p.name, call, time.Since(began), e.ctx.Err())
	e.late("the host call " + call.String())
	return nil, nil
}

// late ends the evaluation, because its context ended before the host answered.
func (e *evaluation) late(what string) {
	reason, when := ReasonDeadline, "in time"
	if !errors.Is(e.ctx.Err(), context.DeadlineExceeded) {
		reason, when = ReasonCanceled, "before the evaluation was given up"
	}
	e.stop(reason, fmt.Errorf("%s was not answered %s: %w", what, when, e.ctx.Err()))
}

// await calls f and waits for it as long as ctx lasts. It says whether that ended
// first: f goes on then, and nobody takes its answer.
func (p *evaluator) await(ctx context.Context, f func() ([]byte, error), what string) (_ hostAnswer, ended bool) {
	if p.abandoned.Load() >= mostAbandoned {
		return hostAnswer{err: errTooManyRemain}, false
	}
	answers := make(chan hostAnswer, 1)
	p.abandoned.Add(1)
	go func() {
		defer p.abandoned.Add(-1)
		answers <- p.answer(f, what)
	}()
	select {
	case a := <-answers:
		return a, false
	case <-ctx.Done():
		return hostAnswer{}, true
	}
}

// answer calls f and lets no panic out.
func (p *evaluator) answer(f func() ([]byte, error), what string) (a hostAnswer) {
	defer func() {
		if r := recover(); r != nil {
			a = hostAnswer{err: errHostPanic}
			p.observer.Logged(p.name, StreamConsole, what+" panicked: "+tidy(fmt.Sprint(r), 300))
		}
	}()
	content, err := f()
	return hostAnswer{content, err}
}
