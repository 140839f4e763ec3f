package expression_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// FuzzExpression compiles any text as an expression, a variable, a message and a
// condition, and evaluates what compiles. Nothing panics or changes its input,
// everything ends, and an expression means the same in each place.
func FuzzExpression(f *testing.F) {
	for _, e := range evaluations {
		f.Add(e.expression, `{"metadata":{"name":"a","labels":{"app":"web"}},"spec":{"replicas":3,"containers":[{"name":"c","image":"i"}]}}`)
	}
	for _, r := range refused {
		if r.cel != nil && len(r.cel.Expressions) > 0 && len(r.cel.Expressions[0].Expression) < 1000 {
			f.Add(r.cel.Expressions[0].Expression, `{"a":[[],{},null,1e300,"\u0000"]}`)
		}
	}
	f.Add("dyn(variables).fuzzed", `{}`)
	f.Add("dyn(variables).all(k, k == 'fuzzed')", `{}`)
	f.Add("object", `{"":{"":{"":[[[[]]]]}}}`)
	f.Fuzz(func(t *testing.T, text, object string) {
		tree, err := apijson.Tree([]byte(object))
		if err != nil {
			return
		}
		before, _ := apijson.Tree([]byte(object))
		in := &expression.Input{Object: tree, OldObject: tree, Request: &expression.Request{Options: tree}}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()

		variable := withVariables(requirements("dyn(variables.fuzzed) == object", "variables.fuzzed == variables.fuzzed"), "fuzzed", text)
		variable.Expressions[0].MessageExpression = text
		if v, problems := expression.CompileValidation(variable, nil); len(problems) == 0 {
			_, _ = v.Evaluate(ctx, in)
			_, _ = v.Evaluate(ctx, nil)
		}
		single, problems := expression.CompileCondition(text, nil)
		v, wrong := expression.CompileValidation(requirements(text), nil)
		if len(problems) != len(wrong) {
			t.Fatalf("as a condition: %v; as an expression: %v", problems.ToAggregate(), wrong.ToAggregate())
		}
		if _, more := expression.CompileConditions([]v1alpha1.CELCondition{{Expression: text}}, nil); len(more) != len(wrong) {
			t.Fatalf("as one of several conditions: %v; as an expression: %v", more.ToAggregate(), wrong.ToAggregate())
		}
		if len(problems) == 0 {
			violations, err := v.Evaluate(ctx, in)
			holds, _, problem := single.Hold(ctx, in)
			if (err == nil) != (problem == nil) || err == nil && holds != (len(violations) == 0) {
				t.Errorf("as a condition: %v, %v; as an expression: %v, %v", holds, problem, violations, err)
			}
		}
		if diff := cmp.Diff(before, tree); diff != "" {
			t.Errorf("the object was changed (-before +after):\n%s", diff)
		}
	})
}
