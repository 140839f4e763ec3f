package expression_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

const (
	hundred = "[0,1,2,3,4,5,6,7,8,9].map(a, [0,1,2,3,4,5,6,7,8,9].map(b, a*10+b))"
	// costly is true, and costs more than one expression may.
	costly = hundred + ".all(x, " + hundred + ".all(y, " + hundred + ".all(z, x.size() == y.size() && y.size() == z.size() && " +
		hundred + ".all(w, w.size() == z.size() && " + hundred + ".all(v, v.size() == w.size())))))"
	// heavy is true, and costs about half of what one expression may.
	heavy = "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4].all(e, a+b+c+d+e >= 0)))))"
)

func TestCostOfOneExpression(t *testing.T) {
	v := compiled(t, requirements(costly, "1 == 2"))
	violations, err := v.Evaluate(unhurried(t), input(t))
	hasAll(t, err, "cel.expressions[0]", "costs more than one expression may, 1000000 units")
	if len(violations) != 1 || violations[0].Index != 1 {
		t.Errorf("violations %v, want that of the second expression", violations)
	}
}

func TestCostOfOneVariable(t *testing.T) {
	v := compiled(t, withVariables(requirements("variables.x"), "x", costly))
	_, err := v.Evaluate(unhurried(t), input(t))
	hasAll(t, err, `variable "x"`, "costs more than one expression may")
}

func TestCostOfAllExpressions(t *testing.T) {
	all := requirements("1 == 2")
	for range 40 {
		all.Expressions = append(all.Expressions, v1alpha1.CELExpression{Expression: heavy})
	}
	all.Expressions = append(all.Expressions, v1alpha1.CELExpression{Expression: "1 == 3"})
	violations, err := compiled(t, all).Evaluate(unhurried(t), input(t))
	hasAll(t, err, "all expressions together cost more than they may")
	if len(violations) != 1 || violations[0].Index != 0 {
		t.Errorf("violations %v, want that of the first expression", violations)
	}
}

// TestCostOfMessages holds that violations are not lost to what their messages
// cost.
func TestCostOfMessages(t *testing.T) {
	all := &v1alpha1.CELValidation{}
	for range 40 {
		all.Expressions = append(all.Expressions, v1alpha1.CELExpression{Expression: "1 == 2", Message: "no", MessageExpression: heavy + "? 'yes' : ''"})
	}
	violations, err := compiled(t, all).Evaluate(unhurried(t), input(t))
	hasAll(t, err, "cost more than they may")
	if len(violations) == 0 || violations[len(violations)-1].Message != "no" {
		t.Errorf("%d violations, want some, and the last with its fixed message", len(violations))
	}
}

func TestCostOfConditions(t *testing.T) {
	var list []v1alpha1.CELCondition
	for range 20 {
		list = append(list, v1alpha1.CELCondition{Expression: heavy})
	}
	conditions, problems := expression.CompileConditions(list, nil)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	holds, _, err := conditions.Hold(unhurried(t), input(t))
	hasAll(t, err, "cost more than they may")
	if holds {
		t.Error("conditions hold that were not evaluated")
	}
}

// TestGrowth holds that doubling a string over and over ends by its cost.
func TestGrowth(t *testing.T) {
	v := requirements("variables.z.size() > 0")
	last := "'" + strings.Repeat("x", 1000) + "'"
	for _, name := range strings.Split("abcdefghijklmnopqrstuvwxy", "") {
		withVariables(v, name, last+" + "+last)
		last = "variables." + name
	}
	withVariables(v, "z", last)
	_, err := compiled(t, v).Evaluate(unhurried(t), input(t))
	hasAll(t, err, "costs more than one expression may")
}

func TestDeadline(t *testing.T) {
	v := compiled(t, requirements("1 == 2", "true"))
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the caller went away")
	cancel(cause)
	violations, err := v.Evaluate(ended, input(t))
	hasAll(t, err, "cel.expressions[0]", "no time left", "the caller went away")
	if !errors.Is(err, cause) || len(violations) > 0 {
		t.Errorf("violations %v, error %v", violations, err)
	}
	conditions, _ := expression.CompileCondition("true", nil)
	if holds, _, err := conditions.Hold(ended, input(t)); holds || !errors.Is(err, cause) {
		t.Errorf("conditions hold %v, error %v", holds, err)
	}
}

// TestDeadlineWithinAnExpression holds that an expression that runs is stopped.
func TestDeadlineWithinAnExpression(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	all := &v1alpha1.CELValidation{}
	for range 100 {
		all.Expressions = append(all.Expressions, v1alpha1.CELExpression{Expression: heavy})
	}
	start := time.Now()
	_, err := compiled(t, all).Evaluate(ctx, input(t))
	hasAll(t, err, "deadline exceeded")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// unhurried gives an evaluation far more time than it needs, so that the cost
// ends it on a slow machine as well.
func unhurried(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
