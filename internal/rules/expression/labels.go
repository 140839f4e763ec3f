package expression

import (
	"context"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	corev1 "k8s.io/api/core/v1"
	limits "k8s.io/apiserver/pkg/apis/cel"

	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// labelsRead are the labels of namespaceObject that an expression reads. Where it
// goes to the labels, or to the whole object, in another way than by a key that is
// written out, these are all.
func labelsRead(tree *ast.AST) match.LabelKeys {
	w := labelWalk{}
	w.visit(tree.Expr())
	return w.keys
}

// onlyNamespace reports whether an expression goes only by namespaceObject, so that
// what it comes to is known without a request.
func onlyNamespace(tree *ast.AST) bool {
	found := false
	for _, name := range []string{objectName, oldObjectName, requestName, variablesName, clusterName} {
		found = found || names(tree, name)
	}
	return !found && names(tree, namespaceName)
}

type labelWalk struct{ keys match.LabelKeys }

func (w *labelWalk) visit(e ast.Expr) {
	switch steps, ok := stepsOf(e); {
	case ok:
		w.read(steps, e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly())
		return
	case e.Kind() == ast.CallKind && w.harmless(e.AsCall()):
		return
	}
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			w.visit(call.Target())
		}
		for _, argument := range call.Args() {
			w.visit(argument)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		for _, part := range []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()} {
			w.visit(part)
		}
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			w.visit(element)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			w.visit(entry.AsMapEntry().Key())
			w.visit(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			w.visit(field.AsStructField().Value())
		}
	case ast.SelectKind:
		w.visit(e.AsSelect().Operand())
	}
}

// harmless notes what a call asks of the labels, if it is one that asks only whether
// there is a namespace, or a label of that key.
func (w *labelWalk) harmless(call ast.CallExpr) bool {
	args := call.Args()
	if len(args) != 2 {
		return false
	}
	switch call.FunctionName() {
	case operators.Equals, operators.NotEquals:
		for i := range args {
			if steps, ok := stepsOf(args[i]); ok && len(steps) == 0 && isNull(args[1-i]) {
				return true
			}
		}
	case operators.In:
		steps, ok := stepsOf(args[1])
		if key, text := textOfLiteral(args[0]); ok && text && len(steps) == 2 && steps[0] == "metadata" && steps[1] == "labels" {
			w.keys.Add(match.LabelKeys{Names: []string{key}})
			return true
		}
	}
	return false
}

// read notes a read of what steps lead to from namespaceObject.
func (w *labelWalk) read(steps []string, tests bool) {
	switch {
	case len(steps) > 0 && steps[0] != "metadata", len(steps) > 1 && steps[1] != "labels":
	case len(steps) > 2:
		w.keys.Add(match.LabelKeys{Names: steps[2:3]})
	case tests:
		// Every namespace has metadata, and the label of its own name.
	default:
		w.keys.All = true
	}
}

// stepsOf are the fields and keys that lead from namespaceObject to what an
// expression reads; not ok for what does not begin there, or goes by a key that is
// not written out.
func stepsOf(e ast.Expr) (steps []string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, strings.TrimPrefix(e.AsIdent(), ".") == namespaceName
	case ast.SelectKind:
		s := e.AsSelect()
		if steps, ok = stepsOf(s.Operand()); ok {
			return append(steps, s.FieldName()), true
		}
	case ast.CallKind:
		call := e.AsCall()
		if !slices.Contains([]string{operators.Index, operators.OptIndex, operators.OptSelect}, call.FunctionName()) || len(call.Args()) != 2 {
			return nil, false
		}
		key, text := textOfLiteral(call.Args()[1])
		if steps, ok = stepsOf(call.Args()[0]); ok && text {
			return append(steps, key), true
		}
	}
	return nil, false
}

func textOfLiteral(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

func isNull(e ast.Expr) bool {
	if e.Kind() != ast.LiteralKind {
		return false
	}
	return e.AsLiteral() == types.NullValue
}

// LabelKeys are the labels of the namespace that the conditions read.
func (c *Conditions) LabelKeys() match.LabelKeys {
	var keys match.LabelKeys
	if c != nil {
		for _, x := range c.list {
			keys.Add(x.labels)
		}
	}
	return keys
}

// MayHold reports whether the conditions can hold for some request in a namespace:
// none that goes only by the namespace is false.
func (c *Conditions) MayHold(ctx context.Context, namespace *corev1.Namespace) bool {
	return c == nil || !slices.ContainsFunc(c.list, func(x *expression) bool {
		holds, known := x.knownHolds(ctx, namespace)
		return known && !holds
	})
}

// MayEnd reports whether the conditions can hold for some request with the labels
// of before, and not with those of after, keys being those that differ. What goes by
// more than the namespace can come to anything.
func (c *Conditions) MayEnd(ctx context.Context, before, after *corev1.Namespace, keys []string) bool {
	if c == nil || !c.MayHold(ctx, before) {
		return false
	}
	return slices.ContainsFunc(c.list, func(x *expression) bool {
		if !x.labels.Has(keys) {
			return false
		}
		holds, known := x.knownHolds(ctx, after)
		return !known || !holds
	})
}

// LabelKeys are the labels of the namespace that it reads.
func (v *Validation) LabelKeys() match.LabelKeys {
	var keys match.LabelKeys
	for i := range v.requirements {
		keys.Add(v.requirements[i].labels)
	}
	if v.variables != nil {
		for _, x := range v.variables.list {
			keys.Add(x.labels)
		}
	}
	return keys
}

// MayWeaken reports whether it can ask for less of some request with the labels of
// after than with those of before, keys being those that differ.
func (v *Validation) MayWeaken(ctx context.Context, before, after *corev1.Namespace, keys []string) bool {
	if v.variables != nil && slices.ContainsFunc(v.variables.list, func(x *expression) bool { return x.labels.Has(keys) }) {
		return true
	}
	return slices.ContainsFunc(v.requirements, func(r requirement) bool {
		if !r.labels.Has(keys) {
			return false
		}
		held, known := r.knownHolds(ctx, before)
		holds, knownAfter := r.knownHolds(ctx, after)
		return !known || !knownAfter || holds && !held
	})
}

// knownHolds evaluates an expression that goes only by the namespace; not known for
// every other, and where it fails.
func (e *expression) knownHolds(ctx context.Context, namespace *corev1.Namespace) (holds, known bool) {
	if !e.onlyNamespace {
		return false, false
	}
	evaluation, over := newEvaluation(ctx, &Input{Namespace: namespace}, limits.RuntimeCELCostBudgetMatchConditions)
	defer over()
	holds, err := evaluation.holds(e)
	return holds, err == nil
}
