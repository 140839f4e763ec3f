// Package regobuiltin answers the builtin functions of Rego that a policy which
// was compiled to Wasm asks its host for: those that the compiler of the Open
// Policy Agent does not put into the module. They are that project's own, so that
// a policy means here what it means there; which of them there are, and how much
// they may be given and may answer, is decided here.
//
// What reaches out of the evaluation is closed: the network, the host, and chance.
package regobuiltin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
)

const (
	// MaxArguments bounds the arguments of one call together, as text.
	MaxArguments = 1 << 20
	// MaxResult bounds what one call answers, as text.
	MaxResult = 8 << 20
)

// Evaluation is what the calls of one evaluation of a policy share. It is used by
// one goroutine at a time.
type Evaluation struct {
	context topdown.BuiltinContext
	log     func(string)
	stop    func() bool
}

// New begins an evaluation. The time is the same for all its calls. log takes the
// lines that the policy prints.
func New(ctx context.Context, now time.Time, log func(string)) *Evaluation {
	cancel := topdown.NewCancel()
	return &Evaluation{
		log:  log,
		stop: context.AfterFunc(ctx, cancel.Cancel),
		context: topdown.BuiltinContext{
			Context: ctx,
			Cancel:  cancel,
			Seed:    noChance{},
			Time:    ast.NumberTerm(json.Number(strconv.FormatInt(now.UnixNano(), 10))),
			Cache:   builtins.Cache{},
		},
	}
}

// Close ends the evaluation.
func (e *Evaluation) Close() { e.stop() }

// noChance is the source of chance of functions that have none.
type noChance struct{}

func (noChance) Read([]byte) (int, error) { return 0, errors.New("there is no chance in a policy") }

// Call answers one call. Arguments and result are values as Rego writes them. The
// result is nil where the function is undefined for its arguments, as it is for
// most that make no sense. An error ends the evaluation: what it would come to
// without an answer is not what the policy says.
func (e *Evaluation) Call(name string, arguments [][]byte) (result []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, fmt.Errorf("the builtin function %s failed over its arguments", name)
		}
	}()
	if err := Known(name); err != nil {
		return nil, err
	}
	if arity := len(ast.BuiltinMap[name].Decl.FuncArgs().Args); arity != len(arguments) {
		return nil, fmt.Errorf("the builtin function %s takes %d arguments and got %d", name, arity, len(arguments))
	}
	size := 0
	for _, text := range arguments {
		size += len(text)
	}
	if size > MaxArguments {
		return nil, fmt.Errorf("the builtin function %s got %d bytes; at most %d are accepted", name, size, MaxArguments)
	}
	operands := make([]*ast.Term, len(arguments))
	for i, text := range arguments {
		if operands[i], err = parse(text); err != nil {
			return nil, fmt.Errorf("argument %d of the builtin function %s cannot be read: %w", i+1, name, err)
		}
	}
	if guard := guards[name]; guard != nil {
		if err := guard(operands, size); err != nil {
			return nil, fmt.Errorf("the builtin function %s: %w", name, err)
		}
	}
	switch name {
	case ast.Trace.Name:
		return e.trace(operands[0])
	case ast.InternalPrint.Name:
		return e.print(operands[0])
	}
	var answer *ast.Term
	err = topdown.GetBuiltin(name)(e.context, operands, func(t *ast.Term) error {
		answer = t
		return nil
	})
	var halt topdown.Halt
	switch {
	case errors.As(err, &halt):
		return nil, fmt.Errorf("the builtin function %s: %w", name, err)
	case err != nil || answer == nil:
		return nil, nil
	}
	if result, err = write(answer); err != nil {
		return nil, fmt.Errorf("the answer of the builtin function %s: %w", name, err)
	}
	return result, nil
}

func (e *Evaluation) trace(what *ast.Term) ([]byte, error) {
	line, ok := what.Value.(ast.String)
	if !ok {
		return nil, nil
	}
	e.log(string(line))
	return []byte("true"), nil
}

// print writes what the statement print was given: a list with a set for each
// argument, which is empty for one that is undefined.
func (e *Evaluation) print(what *ast.Term) ([]byte, error) {
	list, ok := what.Value.(*ast.Array)
	if !ok {
		return nil, nil
	}
	line := ""
	for i := range list.Len() {
		if i > 0 {
			line += " "
		}
		values, ok := list.Elem(i).Value.(ast.Set)
		if !ok || values.Len() == 0 {
			line += "<undefined>"
			continue
		}
		first := values.Slice()[0]
		if text, ok := first.Value.(ast.String); ok {
			line += string(text)
			continue
		}
		text, err := write(first)
		if err != nil {
			return nil, err
		}
		line += string(text)
	}
	e.log(line)
	return []byte("true"), nil
}
