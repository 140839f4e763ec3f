package wasm

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"

	"github.com/sallyport-io/sallyport/internal/wasm/regobuiltin"
)

type evaluationKey struct{}

// evaluation is one call into a module and what the host keeps for it. Without a
// policy it is the initialising of an instance, which may ask for nothing.
type evaluation struct {
	ctx       context.Context
	policy    *evaluator
	limits    *Limits
	operation string
	payload   []byte

	response, guestError    []byte
	hostResponse, hostError []byte
	stdin                   []byte
	hostCalls               int

	lines, dropped int
	partial        map[Stream][]byte
	complaint      string // the last line on stderr

	// What follows is about a module made from Rego.
	instance  *instance
	rego      *regobuiltin.Evaluation
	printed   []string
	inBuiltin bool
	now       func() time.Time

	stopped    error
	stoppedFor Reason
}

func evaluationOf(ctx context.Context) *evaluation {
	state, _ := ctx.Value(evaluationKey{}).(*evaluation)
	return state
}

// stop ends the call that runs: the panic unwinds the module and comes out of
// the call as an error.
func (e *evaluation) stop(reason Reason, err error) {
	e.stopped, e.stoppedFor = err, reason
	panic(err)
}

// read gives a view of the module's memory, which is of use until the module
// runs on.
func (e *evaluation) read(module api.Module, ptr, length uint32, what string) []byte {
	memory := module.Memory()
	content, ok := memory.Read(ptr, length)
	if !ok {
		e.stop(ReasonTrap, fmt.Errorf("the module gave for %s %d bytes at %d, which are not all in its memory of %d bytes", what, length, ptr, memory.Size()))
	}
	return content
}

func (e *evaluation) put(module api.Module, ptr uint32, content []byte, what string) {
	memory := module.Memory()
	if !memory.Write(ptr, content) {
		e.stop(ReasonTrap, fmt.Errorf("the module wants %s of %d bytes at %d, which is not all in its memory of %d bytes", what, len(content), ptr, memory.Size()))
	}
}

// text reads a short name.
func (e *evaluation) text(module api.Module, ptr, length uint32, what string) (string, error) {
	const most = 1024
	if length > most {
		return "", fmt.Errorf("the %s of a host call has %d bytes; at most %d are accepted", what, length, most)
	}
	content := e.read(module, ptr, length, "the "+what+" of a host call")
	if !utf8.Valid(content) {
		return "", fmt.Errorf("the %s of a host call is not UTF-8", what)
	}
	return string(content), nil
}
