package expression

import (
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"
)

// loops says what the interpreter can let go of in each turn of a macro that goes
// over a list.
//
// It counts costs by a stack of values, from which a call takes those that it is
// given. What the condition and the step of a macro give is taken by nothing, so
// that two values stay for every turn, and the whole stack is looked through several
// times in each: a list of thousands would take the square of its length. So one
// call that runs in every turn takes what the turn before has left. In the first
// turn there is nothing of that; the cost of the call is then left out.
type loops map[int64]int64

// loopsOf finds such calls, by their ids, with the id of what each takes. What came
// onto the stack after that goes with it.
func loopsOf(tree *ast.AST) loops {
	found := loops{}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		condition, step := e.AsComprehension().LoopCondition(), e.AsComprehension().LoopStep()
		switch condition.Kind() {
		case ast.CallKind:
			// Of all and exists.
			if condition.AsCall().FunctionName() == operators.NotStrictlyFalse {
				found[condition.ID()] = condition.ID()
			}
		case ast.LiteralKind:
			// Of map and filter, whose condition is always true.
			if call := firstCall(step, e.AsComprehension().AccuVar()); call != nil {
				found[call.ID()] = step.ID()
			}
		}
	}))
	return found
}

// firstCall finds a call that runs whenever an expression is evaluated; nil if
// there is none that can be used. Those can that cost the same whatever they are
// given, and equality, whose cost is known; what is added to is result.
func firstCall(e ast.Expr, result string) ast.Expr {
	if e.Kind() != ast.CallKind {
		return nil
	}
	args := e.AsCall().Args()
	switch e.AsCall().FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr, operators.Conditional:
		return firstCall(args[0], result)
	case operators.Equals, operators.NotEquals, operators.LogicalNot:
		return e
	case operators.Add:
		if args[0].Kind() == ast.IdentKind && args[0].AsIdent() == result {
			return e
		}
	}
	return nil
}

// takingEquality is the overload of an equality that takes more than it is given,
// which goes behind what it takes.
const takingEquality = "equality_in_loop"

// costOfLoops has such an equality cost what one does.
func costOfLoops() cel.ProgramOption {
	estimator := &library.CostEstimator{}
	return cel.CostTrackerOptions(interpreter.OverloadCostTracker(takingEquality, func(args []ref.Val, result ref.Val) *uint64 {
		if len(args) < 2 {
			return nil
		}
		own := args[len(args)-2:]
		if cost := estimator.CallCost(operators.Equals, overloads.Equals, own, result); cost != nil {
			return cost
		}
		cost := uint64(math.Ceil(float64(min(costSize(own[0]), costSize(own[1]))) * common.StringTraversalCostFactor))
		return &cost
	}))
}

func costSize(v ref.Val) uint64 {
	if sizer, ok := v.(traits.Sizer); ok {
		if size, ok := sizer.Size().(types.Int); ok && size >= 0 {
			return uint64(size)
		}
	}
	if o, ok := v.(*types.Optional); ok && o.HasValue() {
		return costSize(o.GetValue())
	}
	return 1
}

type decorator = func(interpreter.InterpretableV2) (interpreter.InterpretableV2, error)

// around has the calls that were found take what is left, after another decorator.
func (l loops) around(inner decorator) decorator {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		made, err := inner(i)
		if err != nil {
			return nil, err
		}
		call, ok := made.(interpreter.InterpretableCall)
		id, takes := l[made.ID()]
		if !ok || !takes {
			return made, nil
		}
		return &takingCall{InterpretableCall: call, args: append([]interpreter.InterpretableV2{left{InterpretableV2: made, id: id}}, call.Args()...)}, nil
	}
}

// takingCall is a call that takes more than it is given.
type takingCall struct {
	interpreter.InterpretableCall
	args []interpreter.InterpretableV2
}

// Args are what the call takes off the stack; it is evaluated with its own.
func (t *takingCall) Args() []interpreter.InterpretableV2 { return t.args }

// OverloadID is what the cost goes by.
func (t *takingCall) OverloadID() string {
	if name := t.Function(); name == operators.Equals || name == operators.NotEquals {
		return takingEquality
	}
	return t.InterpretableCall.OverloadID()
}

// left is a value of the turn before. It is not evaluated.
type left struct {
	interpreter.InterpretableV2
	id int64
}

// ID is that of what gave the value.
func (l left) ID() int64 { return l.id }
