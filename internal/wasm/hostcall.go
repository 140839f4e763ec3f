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

// HostCall answers a Call. It is called for one evaluation at a time, but for
// many evaluations at once. Its context ends with the evaluation. The text of an
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
		return nil, fmt.Errorf("the payload of a host call has %d bytes; at most %d are taken", length, e.limits.HostCallBytes)
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
	if p.abandoned.Load() >= mostAbandoned {
		return nil, errTooManyRemain
	}
	answers := make(chan hostAnswer, 1)
	p.abandoned.Add(1)
	go func() {
		defer p.abandoned.Add(-1)
		answers <- p.answer(e.ctx, call)
	}()
	select {
	case a := <-answers:
		if a.err == nil && len(a.content) > e.limits.HostCallBytes {
			a.err = fmt.Errorf("the answer to the host call has %d bytes; at most %d are given", len(a.content), e.limits.HostCallBytes)
		}
		p.observer.HostCalled(p.name, call, time.Since(began), a.err)
		if a.err != nil {
			return nil, a.err
		}
		return a.content, nil
	case <-e.ctx.Done():
		p.observer.HostCalled(p.name, call, time.Since(began), e.ctx.Err())
		reason, what := ReasonDeadline, "in time"
		if !errors.Is(e.ctx.Err(), context.DeadlineExceeded) {
			reason, what = ReasonCanceled, "before the evaluation was given up"
		}
		e.stop(reason, fmt.Errorf("the host call %s was not answered %s: %w", call, what, e.ctx.Err()))
		return nil, nil
	}
}

// answer calls the host and lets no panic out.
func (p *evaluator) answer(ctx context.Context, call Call) (a hostAnswer) {
	defer func() {
		if r := recover(); r != nil {
			a = hostAnswer{err: errHostPanic}
			p.observer.Logged(p.name, StreamConsole, "host call "+call.String()+" panicked: "+tidy(fmt.Sprint(r), 300))
		}
	}()
	content, err := p.hostCall(ctx, call)
	return hostAnswer{content, err}
}
