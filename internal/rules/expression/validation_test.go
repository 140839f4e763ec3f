package expression_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

func TestMessages(t *testing.T) {
	for _, tt := range []struct{ name, message, messageExpression, want string }{
		{"none", "", "", "failed expression: object.spec.replicas > 5"},
		{"a message", "too few", "", "too few"},
		{"a message with space around it", " too few\n", "", "too few"},
		{"a message of space", " ", "", "failed expression: object.spec.replicas > 5"},
		{"a message of two lines", "too\nfew", "", "too\nfew"},
		{"an expression", "too few", "'found ' + string(object.spec.replicas)", "found 3"},
		{"an expression with variables", "", "variables.name + ' is too small'", "web-0 is too small"},
		{"an expression with space around it", "", "' a '", "a"},
		{"an expression that fails", "too few", "string(object.spec.missing)", "too few"},
		{"an expression that fails, and no message", "", "string(object.spec.missing)", "failed expression: object.spec.replicas > 5"},
		{"an expression that gives nothing", "too few", "''", "too few"},
		{"an expression that gives space", "too few", "' \\n '", "too few"},
		{"an expression that gives two lines", "too few", "'a\\nb'", "too few"},
		{"an expression that gives 5 KiB", "", "['" + strings.Repeat("x", 1024) + "'].map(x, x+x+x+x+x)[0]", strings.Repeat("x", 5*1024)},
		{"an expression that gives more", "too few", "['" + strings.Repeat("x", 1024) + "'].map(x, x+x+x+x+x+'.')[0]", "too few"},
		{"an expression that uses a variable that fails", "too few", "variables.broken + ''", "too few"},
		{"an expression that costs too much", "too few", costly + " ? 'a' : 'b'", "too few"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := compiled(t, &v1alpha1.CELValidation{
				Variables: []v1alpha1.CELVariable{
					{Name: "name", Expression: "string(object.metadata.name)"},
					{Name: "broken", Expression: "string(object.spec.missing)"},
				},
				Expressions: []v1alpha1.CELExpression{
					{Expression: "true", Message: "never", MessageExpression: "'never'"},
					{Expression: "object.spec.replicas > 5", Message: tt.message, MessageExpression: tt.messageExpression},
				},
			})
			got, err := v.Evaluate(t.Context(), input(t))
			want := []expression.Violation{{Index: 1, Expression: "object.spec.replicas > 5", Message: tt.want, Evaluated: tt.want != strings.TrimSpace(tt.message) && !strings.HasPrefix(tt.want, "failed expression")}}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestVariables(t *testing.T) {
	for _, tt := range []struct {
		name string
		cel  *v1alpha1.CELValidation
		// violations are how many expressions are false.
		violations int
		err        string
	}{
		{"one", withVariables(requirements("variables.n == 3"), "n", "object.spec.replicas"), 0, ""},
		{"one on another", withVariables(requirements("variables.b == 4"), "a", "object.spec.replicas", "b", "variables.a + 1"), 0, ""},
		{"a list", withVariables(requirements("variables.names.all(n, n in ['web', 'sidecar'])"), "names", "object.spec.containers.map(c, c.name)"), 0, ""},
		{"optional", withVariables(requirements("variables.x.orValue('none') == 'none'"), "x", "object.spec.?missing"), 0, ""},
		{"a quantity", withVariables(requirements("variables.q.isGreaterThan(quantity('256Mi'))"), "q", "quantity(object.spec.containers[0].resources.limits.memory)"), 0, ""},
		{"in a comprehension", withVariables(requirements("object.spec.containers.all(c, c.image.startsWith(variables.registry))"), "registry", "'registry.example/'"), 0, ""},
		{"one that fails and is not used", withVariables(requirements("true", "1 == 2"), "x", "object.spec.missing"), 1, ""},
		{"one that fails", withVariables(requirements("variables.x == 1"), "x", "object.spec.missing"), 0, `variable "x", cel.variables[0].expression, cannot be evaluated: no such key: missing`},
		{"one that fails and does not matter", withVariables(requirements("variables.x == 1 || true"), "x", "object.spec.missing"), 0, ""},
		{"one on one that fails", withVariables(requirements("variables.y == 1"), "x", "object.spec.missing", "y", "variables.x"), 0, `variable "y"`},
		{"has", withVariables(requirements("has(variables.x)"), "x", "object.spec.replicas"), 0, ""},
		{"has evaluates", withVariables(requirements("has(variables.x)"), "x", "object.spec.missing"), 0, "no such key: missing"},
		{"in does not", withVariables(requirements("'x' in dyn(variables)"), "x", "object.spec.missing"), 0, ""},
		{"as a map", withVariables(requirements("dyn(variables)['x'] == 1 && dyn(variables).size() == 2 && dyn(variables).all(k, k in ['x', 'y'])"), "x", "1", "y", "2"), 0, ""},
		{"as a map without that key", withVariables(requirements("dyn(variables)['z'] == 1"), "x", "1"), 0, "no such key: z"},
		{"as a map with a key of another type", withVariables(requirements("dyn(variables)[1] == 1"), "x", "1"), 0, "no such overload"},
		{"as a map that is empty", requirements("dyn(variables).size() == 0 && !('a' in dyn(variables))"), 0, ""},
		{"compared to itself", withVariables(requirements("variables == variables", "dyn(variables) == {}"), "x", "1"), 1, ""},
		{"one around its type to itself", withVariables(requirements("variables.x == 1"), "x", "dyn(variables).x"), 0, "a variable depends on itself"},
		{"a circle", withVariables(requirements("variables.x == 1"), "x", "dyn(variables).y", "y", "variables.x"), 0, "a variable depends on itself"},
		{"made of its type", withVariables(requirements("kubernetes.variables{x: 1}.x == 1"), "x", "1"), 0, "unknown type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			violations, err := compiled(t, tt.cel).Evaluate(t.Context(), input(t))
			if len(violations) != tt.violations {
				t.Errorf("violations %v, want %d", violations, tt.violations)
			}
			if tt.err == "" {
				hasAll(t, err)
			} else {
				hasAll(t, err, tt.err)
			}
		})
	}
}

// TestVariableIsEvaluatedOnce counts by cost: evaluated once it is within the
// budget of all expressions, evaluated for each expression it would not be.
func TestVariableIsEvaluatedOnce(t *testing.T) {
	v := manyExpressions(100)
	for i := range v.Expressions {
		v.Expressions[i].Expression = "variables.heavy"
	}
	violations, err := compiled(t, withVariables(v, "heavy", heavy)).Evaluate(t.Context(), input(t))
	if err != nil || len(violations) > 0 {
		t.Errorf("violations %v, error %v, want none", violations, err)
	}
}

// TestViolationsStandBesideErrors holds that an expression that cannot be
// evaluated does not make those that are false be forgotten.
func TestViolationsStandBesideErrors(t *testing.T) {
	v := compiled(t, requirements("object.spec.replicas > 5", "object.spec.missing > 5", "true", "object.spec.other == 1", "request.name == ''"))
	violations, err := v.Evaluate(context.Background(), input(t))
	var got []int
	for _, violation := range violations {
		got = append(got, violation.Index)
	}
	if diff := cmp.Diff([]int{0, 4}, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	for _, part := range []string{"cel.expressions[1]", "no such key: missing", "cel.expressions[3]", "no such key: other"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v leaves out %q", err, part)
		}
	}
}
