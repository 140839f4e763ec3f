package wasm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/sys"
)

// Reason says in one word why an evaluation failed. There are few, so that a
// metric can carry them.
type Reason string

// The reasons of an Error.
const (
	ReasonTrap     Reason = "trap"     // the module crashed, by itself or by a wrong pointer
	ReasonExit     Reason = "exit"     // the module ended itself
	ReasonDeadline Reason = "deadline" // the time was up
	ReasonCanceled Reason = "canceled" // the caller gave up
	ReasonLimit    Reason = "limit"    // another limit was passed
	ReasonGuest    Reason = "guest"    // the module answered with an error
	ReasonAnswer   Reason = "answer"   // the answer makes no sense
	ReasonInput    Reason = "input"    // what was to be evaluated makes no sense
	ReasonHost     Reason = "host"     // no instance could be made
	ReasonContext  Reason = "context"  // what it reads of the cluster could not be read
)

// Error is an evaluation that came to no verdict.
type Error struct {
	Policy    string
	Operation string
	Reason    Reason
	Err       error
	// Trace is where in the module it happened, if that is known.
	Trace string
}

func (e *Error) Error() string {
	return fmt.Sprintf("policy %s: %s: %v", tidy(e.Policy, 256), e.Operation, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrMutates is a module that changes an object and may not.
	ErrMutates = errors.New("the policy changes the object, but is not set to be mutating")
	// ErrClosed is a module or an engine that is used after it was closed.
	ErrClosed = errors.New("the module is closed")
	// ErrNested is an evaluation that a host call asks for.
	ErrNested = errors.New("an evaluation cannot start another one from a host call")
	// ErrDenied is what a host call comes to where nothing is granted.
	ErrDenied = errors.New("host calls are denied: the policy is granted none")
)

const longestError = 4096

// failure makes an Error of what a call into the module came to.
func failure(ctx context.Context, policy, operation string, state *evaluation, err error) *Error {
	e := &Error{Policy: policy, Operation: operation, Reason: ReasonTrap}
	var known *Error
	var exit *sys.ExitError
	var missing *unread
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &missing):
		e.Reason, e.Err = ReasonContext, err
	case state != nil && state.stopped != nil:
		e.Reason, e.Err = state.stoppedFor, state.stopped
	case ctx.Err() != nil:
		e.Reason, e.Err = ReasonCanceled, fmt.Errorf("it was given up: %w", context.Cause(ctx))
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			e.Reason, e.Err = ReasonDeadline, fmt.Errorf("it did not end in its time: %w", ctx.Err())
		}
	case errors.As(err, &exit):
		e.Reason, e.Err = ReasonExit, fmt.Errorf("the module ended itself with exit code %d", exit.ExitCode())
	case errors.Is(err, ErrClosed), errors.Is(err, ErrNested):
		e.Reason, e.Err = ReasonHost, err
	default:
		first, trace, _ := strings.Cut(err.Error(), "\n")
		e.Err, e.Trace = errors.New("the module crashed: "+tidy(first, longestError)), clip(trace, longestError)
	}
	return e
}

var errSnapshot = errors.New("its memory could not be set up")
