package expression

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// variableSet are the variables of a validation, compiled, in their order.
type variableSet struct {
	list  []*expression
	index map[string]int
}

// variableValues is the map of variables in one evaluation. Each is evaluated
// when it is asked for, and once. A variable can come to itself only around its
// type, as dyn(variables); that is an error and no endless descent.
type variableValues struct {
	in     *evaluation
	set    *variableSet
	values []ref.Val
	// running are those that are being evaluated.
	running []bool
}

func (v *variableValues) value(i int) ref.Val {
	if v.values == nil {
		v.values, v.running = make([]ref.Val, len(v.set.list)), make([]bool, len(v.set.list))
	}
	switch {
	case v.running[i]:
		return types.NewErr("a variable depends on itself")
	case v.values[i] == nil:
		v.running[i] = true
		v.values[i] = v.evaluate(v.set.list[i])
		v.running[i] = false
	}
	return v.values[i]
}

func (v *variableValues) evaluate(x *expression) ref.Val {
	value, err := v.in.run(x)
	if err != nil {
		return types.WrapErr(fmt.Errorf("variable %q, %s, cannot be evaluated: %w", x.name, x.path, err))
	}
	return value
}

// Find returns the variable of that name.
func (v *variableValues) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	if v.set == nil {
		return nil, false
	}
	i, ok := v.set.index[string(name)]
	if !ok {
		return nil, false
	}
	return v.value(i), true
}

// Get returns the variable of that name, or an error.
func (v *variableValues) Get(key ref.Val) ref.Val {
	value, ok := v.Find(key)
	if ok || value != nil {
		return value
	}
	return types.NewErr("no such key: %v", key)
}

// Contains reports whether there is a variable of that name, without evaluating
// it.
func (v *variableValues) Contains(key ref.Val) ref.Val {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key)
	}
	if v.set == nil {
		return types.False
	}
	_, ok = v.set.index[string(name)]
	return types.Bool(ok)
}

// Size is how many variables there are.
func (v *variableValues) Size() ref.Val { return types.Int(len(v.names())) }

// Iterator goes over the names of the variables, in their order.
func (v *variableValues) Iterator() traits.Iterator {
	return types.NewStringList(types.DefaultTypeAdapter, v.names()).Iterator()
}

func (v *variableValues) names() []string {
	if v.set == nil {
		return nil
	}
	names := make([]string, len(v.set.list))
	for i, x := range v.set.list {
		names[i] = x.name
	}
	return names
}

// Equal reports whether it is compared to itself.
func (v *variableValues) Equal(other ref.Val) ref.Val { return types.Bool(ref.Val(v) == other) }

// ConvertToNative is refused: it would have to evaluate every variable.
func (v *variableValues) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("variables cannot be made a %s", t)
}

// ConvertToType tells the type, and is refused otherwise.
func (v *variableValues) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.TypeType:
		return cel.ObjectType(variablesTypeName)
	case types.MapType:
		return v
	}
	return types.NewErr("variables cannot be made a %s", t.TypeName())
}

// Type is the type of a map.
func (v *variableValues) Type() ref.Type { return types.MapType }

// Value is the map itself.
func (v *variableValues) Value() any { return v }
