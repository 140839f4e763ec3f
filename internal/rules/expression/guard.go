package expression

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// guard looks at what functions are given before they are called, where a single
// call could take more time or memory than a whole evaluation should: neither a
// deadline nor what expressions may cost stops a call that runs.
type guard struct {
	// calls are the functions that are looked after, by their names and the ids of
	// their overloads. An overload "" is that which chooses among them by what it is
	// given.
	calls map[string]map[string]functions.FunctionOp
}

// harmless functions look at no more than the outside of what they are given.
var harmless = []string{
	"size", "dyn", "type", "optional.of", "optional.none", "hasValue", "value", "or", "orValue",
	"bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint",
}

// newGuard returns the guard for the functions of an environment.
func newGuard(env *cel.Env) (*guard, error) {
	g := &guard{calls: map[string]map[string]functions.FunctionOp{
		operators.Equals:    {"": func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }},
		operators.NotEquals: {"": func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }},
	}}
	for name, declared := range env.Functions() {
		if name != operators.In && !isFunction(name) || slices.Contains(harmless, name) {
			continue
		}
		bindings, err := declared.Bindings()
		if err != nil {
			return nil, fmt.Errorf("the function %s has no implementation: %w", name, err)
		}
		g.calls[name] = map[string]functions.FunctionOp{}
		for _, b := range bindings {
			id := b.Operator
			if id == name {
				id = ""
			}
			g.calls[name][id] = operation(b)
		}
	}
	return g, nil
}

// operation returns an implementation for any number of arguments.
func operation(b *functions.Overload) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		switch {
		case b.OperandTrait != 0 && !args[0].Type().HasTrait(b.OperandTrait):
			return types.MaybeNoSuchOverloadErr(args[0])
		case len(args) == 1 && b.Unary != nil:
			return b.Unary(args[0])
		case len(args) == 2 && b.Binary != nil:
			return b.Binary(args[0], args[1])
		case b.Function != nil:
			return b.Function(args...)
		}
		return types.NoSuchOverloadErr()
	}
}

// decorate puts a check ahead of a call, if it needs one.
func (g *guard) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) == 0 || isShallow(call) {
		return i, nil
	}
	if pattern, ok := literal(call); ok {
		return literalCall(call, pattern)
	}
	overloads := g.calls[call.Function()]
	op := overloads[call.OverloadID()]
	if op == nil {
		op = overloads[""]
	}
	if op == nil {
		return i, nil
	}
	name := call.Function()
	return interpreter.NewCall(call.ID(), name, call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		if err := check(name, args); err != nil {
			return types.WrapErr(err)
		}
		return op(args...)
	}), nil
}

// isShallow reports whether a call compares with a value that has nothing inside,
// or looks for something in a list that stands in the expression, which is short.
func isShallow(call interpreter.InterpretableCall) bool {
	args := call.Args()
	switch call.Function() {
	case operators.Equals, operators.NotEquals:
		return slices.ContainsFunc(args, isScalar)
	case operators.In:
		_, ok := args[1].(interpreter.InterpretableConst)
		return ok
	}
	return false
}

func isScalar(i interpreter.InterpretableV2) bool {
	c, ok := i.(interpreter.InterpretableConst)
	return ok && types.IsPrimitiveType(c.Value())
}

// check returns an error if a function may not be given these arguments.
func check(name string, args []ref.Val) error {
	total := 0
	for _, arg := range args {
		if name == operators.In && isMap(arg) {
			continue
		}
		total += weight(arg, maxWeight-total)
		if total > maxWeight {
			return fmt.Errorf("%s is given too much: lists, maps and texts of more than %d items and hundreds of bytes", called(name), maxWeight)
		}
	}
	if patternFunctions[name] {
		return checkPattern(args)
	}
	if limited := results[name]; limited != nil {
		return limited(args, total)
	}
	return nil
}

func isMap(v ref.Val) bool { _, ok := v.(traits.Mapper); return ok }

// called is what a function is called in an expression.
func called(name string) string {
	if symbol, ok := operators.FindReverse(name); ok {
		return symbol
	}
	return name
}
