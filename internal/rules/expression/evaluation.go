package expression

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	limits "k8s.io/apiserver/pkg/apis/cel"
)

// errBudget ends an evaluation: nothing more is evaluated in it.
var errBudget = errors.New("all expressions together cost more than they may")

// evaluation gives names their values, for one judgement about one input. It is
// used by one goroutine.
type evaluation struct {
	// ctx is kept here, since variables are evaluated when an expression comes to
	// them, from within the interpreter.
	ctx context.Context
	in  *Input
	// requestIsObject gives request the value of object.
	requestIsObject bool
	// budget is what may be spent yet.
	budget int64

	// The values, each nil until it is asked for.
	object, oldObject, request, namespace ref.Val
	variables                             *variableValues
	cluster                               *clusterValue
}

// maxTime is how long an evaluation may take if its context says nothing. What
// Kubernetes lets expressions cost should take a second; where a comprehension
// goes over tens of thousands of items, it takes far longer.
const maxTime = 10 * time.Second

var errTime = fmt.Errorf("it took more than %v", maxTime)

// newEvaluation returns an evaluation, and what to call when it is over.
func newEvaluation(ctx context.Context, in *Input, budget int64) (*evaluation, context.CancelFunc) {
	cancel := func() {}
	if _, ok := ctx.Deadline(); !ok {
		ctx, cancel = context.WithTimeoutCause(ctx, maxTime, errTime)
	}
	if in == nil {
		in = &Input{}
	}
	return &evaluation{ctx: ctx, in: in, budget: budget}, cancel
}

// ResolveName returns the value of a name.
func (e *evaluation) ResolveName(name string) (any, bool) {
	if e.in.NotCarried && (name == objectName || name == oldObjectName) {
		return types.WrapErr(fmt.Errorf("%s is not known: the request does not carry it", name)), true
	}
	switch name {
	case objectName:
		return once(&e.object, e.in.Object), true
	case oldObjectName:
		return once(&e.oldObject, e.in.OldObject), true
	case requestName:
		if e.requestIsObject {
			return once(&e.object, e.in.Object), true
		}
		if e.request == nil && e.in.Request != nil {
			return once(&e.request, e.in.Request.tree()), true
		}
		return once(&e.request, nil), true
	case namespaceName:
		if e.namespace == nil && e.in.Namespace != nil {
			return once(&e.namespace, namespaceTree(e.in.Namespace)), true
		}
		return once(&e.namespace, nil), true
	case variablesName:
		if e.variables == nil {
			e.variables = &variableValues{in: e}
		}
		return e.variables, true
	case clusterName:
		if e.cluster == nil {
			e.cluster = &clusterValue{in: e}
		}
		return e.cluster, true
	}
	return nil, false
}

// Parent returns nil: there are no names but those above.
func (e *evaluation) Parent() interpreter.Activation { return nil }

// once returns value, and fills it from tree before, if it is nil.
func once(value *ref.Val, tree map[string]any) ref.Val {
	switch {
	case *value != nil:
	case tree == nil:
		*value = types.NullValue
	default:
		*value = types.DefaultTypeAdapter.NativeToValue(tree)
	}
	return *value
}

// run evaluates one expression. An error is worded without its name. After
// errBudget, and when the context has ended, nothing else should be run.
func (e *evaluation) run(x *expression) (ref.Val, error) {
	if err := context.Cause(e.ctx); err != nil {
		return nil, fmt.Errorf("there was no time left: %w", err)
	}
	if e.budget < 0 {
		return nil, errBudget
	}
	value, details, err := x.program.ContextEval(e.ctx, e)
	if details == nil || details.ActualCost() == nil {
		// What is not known cannot be charged, so nothing may follow it.
		e.budget = -1
		if err == nil {
			err = errors.New("what it costs is not known")
		}
		return nil, worded(err)
	}
	if cost := *details.ActualCost(); cost > uint64(max(e.budget, 0)) {
		e.budget = -1
	} else {
		e.budget -= int64(cost)
	}
	if e.budget < 0 {
		return nil, errBudget
	}
	if err != nil {
		return nil, worded(err)
	}
	return value, nil
}

// worded says what an error of the interpreter means, where it does not itself.
func worded(err error) error {
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return fmt.Errorf("it costs more than one expression may, %d units", int64(limits.PerCallLimit))
	}
	// Some show the whole value that they are about.
	if text := err.Error(); len(text) > longError {
		return errors.New(cut(text))
	}
	return err
}

// longError is the length from which an error is cut.
const longError = 1000

// ended reports whether nothing more can be evaluated.
func (e *evaluation) ended() bool { return e.budget < 0 || e.ctx.Err() != nil }

// holds evaluates an expression that gives a bool.
func (e *evaluation) holds(x *expression) (bool, error) {
	value, err := e.run(x)
	if err != nil {
		return false, fmt.Errorf("%s cannot be evaluated: %w", x, err)
	}
	if b, ok := value.(types.Bool); ok {
		return bool(b), nil
	}
	return false, fmt.Errorf("%s gives %s, and has to give bool", x, value.Type().TypeName())
}
