package expression_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// manyVariables are n variables, each built on the one ahead of it.
func manyVariables(n int) []string {
	list := []string{"v0", "1"}
	for i := 1; i < n; i++ {
		list = append(list, fmt.Sprintf("v%d", i), fmt.Sprintf("variables.v%d + 1", i-1))
	}
	return list
}

func manyExpressions(n int) *v1alpha1.CELValidation {
	return requirements(strings.Split(strings.Repeat("true ", n-1)+"true", " ")...)
}

// refused are validations that do not compile, with what the error says.
var refused = []struct {
	name  string
	cel   *v1alpha1.CELValidation
	parts []string
}{
	{"nothing", nil, []string{"cel.expressions: Required"}},
	{"no expressions", &v1alpha1.CELValidation{}, []string{"cel.expressions: Required"}},
	{"only variables", withVariables(&v1alpha1.CELValidation{}, "a", "1"), []string{"cel.expressions: Required"}},
	{"an empty expression", requirements("true", ""), []string{"cel.expressions[1].expression: Required"}},
	{"only space", requirements(" \n\t"), []string{"cel.expressions[0].expression: Required"}},
	{"only a comment", requirements("// nothing"), []string{"cel.expressions[0].expression: Invalid", "Syntax error"}},
	{"syntax", requirements("object."), []string{`"object."`, "1:8: Syntax error"}},
	{"unbalanced", requirements("(true"), []string{"1:6: Syntax error"}},
	{"assignment", requirements("object.spec = 1"), []string{"Syntax error"}},
	{"the second line", requirements("true &&\n  nope"), []string{"2:3: undeclared reference to 'nope'"}},
	{"a string", requirements("'true'"), []string{"gives string, and has to give bool"}},
	{"an int", requirements("1"), []string{"gives int, and has to give bool"}},
	{"null", requirements("null"), []string{"gives null_type, and has to give bool"}},
	{"a free field", requirements("object.spec.hostNetwork"), []string{"gives dyn, and has to give bool"}},
	{"a list", requirements("[true]"), []string{"gives list(bool), and has to give bool"}},
	{"an unknown name", requirements("pod.spec == 1"), []string{"cel.expressions[0].expression", `"pod.spec == 1"`, "undeclared reference to 'pod'", "there are object, oldObject"}},
	{"params", requirements("params.x == 1"), []string{"params is not available", "variables"}},
	{"authorizer", requirements("authorizer.group('').resource('pods').check('get').allowed()"), []string{"authorizer is not available", "request.userInfo"}},
	{"an unknown function", requirements("object.metadata.name.startWith('a')"), []string{"undeclared reference to 'startWith'"}},
	{"a function with other arguments", requirements("request.name.startsWith(1)"), []string{"found no matching overload for 'startsWith'"}},
	{"types that do not compare", requirements("request.name == 1"), []string{"no matching overload"}},
	{"an unknown field of the request", requirements("request.user == 'a'"), []string{"undefined field 'user'"}},
	{"the object by way of the request", requirements("request.object.spec == 1"), []string{"undefined field 'object'"}},
	{"an unknown field of the user", requirements("request.userInfo.name == 'a'"), []string{"undefined field 'name'"}},
	{"managed fields of the namespace", requirements("namespaceObject.metadata.managedFields.size() == 0"), []string{"undefined field 'managedFields'"}},
	{"UID of the namespace", requirements("namespaceObject.metadata.UID == ''"), []string{"undefined field 'UID'"}},
	{"a bad regular expression", requirements("request.name.matches('(')"), []string{"invalid matches argument"}},
	{"a bad duration", requirements("duration('5 minutes') > duration('1m')"), []string{"invalid duration argument"}},
	{"a bad timestamp", requirements("timestamp('yesterday') < timestamp('2026-01-01T00:00:00Z')"), []string{"invalid timestamp argument"}},
	{"a mixed list", requirements("1 in [1, 'a']"), []string{"expected type 'int' but found 'string'"}},
	{"a reserved word", requirements("namespace == 'a'"), []string{"reserved identifier: namespace"}},
	{"an int that is too large", requirements("9223372036854775808 > 1"), []string{"invalid int literal"}},
	{"too many complaints", requirements("a && b && c && d && e"), []string{"'a'", "'b'", "'c'", "and 2 more"}},
	{"too deep", requirements(strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300)), []string{"recursion limit"}},
	{"a chain that is too long", requirements("0" + strings.Repeat("+1", 15_000) + " > 0"), []string{"max recursion depth exceeded"}},
	{"a message that is none", &v1alpha1.CELValidation{Expressions: []v1alpha1.CELExpression{{Expression: "true", MessageExpression: "1"}}}, []string{"cel.expressions[0].messageExpression", "gives int, and has to give string"}},
	{"a free message", &v1alpha1.CELValidation{Expressions: []v1alpha1.CELExpression{{Expression: "true", MessageExpression: "object.kind"}}}, []string{"gives dyn, and has to give string"}},
	{"a message of space", &v1alpha1.CELValidation{Expressions: []v1alpha1.CELExpression{{Expression: "true", MessageExpression: " "}}}, []string{"cel.expressions[0].messageExpression: Required"}},
	{"an unknown variable", requirements("variables.a == 1"), []string{"undefined field 'a'", "a variable has to be defined"}},
	{"another variable", withVariables(requirements("variables.b == 1"), "a", "1"), []string{"undefined field 'b'"}},
	{"a variable used ahead of its definition", withVariables(requirements("true"), "a", "variables.b", "b", "1"), []string{"cel.variables[0].expression", "undefined field 'b'", "ahead of where it is used"}},
	{"a variable used in itself", withVariables(requirements("true"), "a", "variables.a"), []string{"cel.variables[0].expression", "undefined field 'a'"}},
	{"a variable's type", withVariables(requirements("variables.a"), "a", "1"), []string{"gives int, and has to give bool"}},
	{"a variable's type in use", withVariables(requirements("variables.a + 1 == 2"), "a", "'x'"), []string{"no matching overload"}},
	{"variables twice", withVariables(requirements("true"), "a", "1", "a", "2"), []string{"cel.variables[1].name: Duplicate", `"a"`}},
	{"a variable without a name", withVariables(requirements("true"), "", "1"), []string{"cel.variables[0].name: Required"}},
	{"a variable with a dash", withVariables(requirements("true"), "a-b", "1"), []string{"cel.variables[0].name", "not an identifier"}},
	{"a variable with a digit first", withVariables(requirements("true"), "1a", "1"), []string{"not an identifier"}},
	{"a variable with a line break", withVariables(requirements("true"), "a\n", "1"), []string{"not an identifier"}},
	{"a variable called as a reserved word", withVariables(requirements("true"), "namespace", "1"), []string{"not an identifier"}},
	{"a variable without an expression", withVariables(requirements("true"), "a", ""), []string{"cel.variables[0].expression: Required"}},
}

// beyondLimits are validations that a ValidatingAdmissionPolicy would take.
var beyondLimits = []struct {
	name  string
	cel   *v1alpha1.CELValidation
	parts []string
}{
	{"too long", requirements("true" + strings.Repeat(" ", expression.MaxText)), []string{"cel: Too long"}},
	{"too long together", requirements(strings.Repeat(" ", expression.MaxText/2)+"true", strings.Repeat(" ", expression.MaxText/2)+"true"), []string{"cel: Too long"}},
	{"nested too deep", requirements(strings.Repeat("[", 33) + "1" + strings.Repeat("]", 33) + ".size() == 1"), []string{"nests or chains 34 calls, lists and maps, and may 32"}},
	{"of too many parts", requirements("true" + strings.Repeat("&&1==1", 400)), []string{"is made of", "and may be of 500"}},
	{"too many optMap", requirements("optional.of(1)" + strings.Repeat(".optMap(x, x)", 5) + ".hasValue()"), []string{"says optMap or optFlatMap 5 times, and may 4 times"}},
	{"a large regular expression", requirements("request.name.matches('(a{30}b{30}c{30}d{30}e{30}f{30}){30}')"), []string{`"(a{30}b{30}c{30}d{30}e{30}f{30}){30}"`, "too large"}},
	{"a variable that is nested too deep", withVariables(requirements("true"), "a", strings.Repeat("[", 17)+"1"+strings.Repeat("]", 17)), []string{"cel.variables[0].expression", "nested 17 deep"}},
	{"too many variables", withVariables(requirements("true"), manyVariables(expression.MaxVariables+1)...), []string{"cel.variables: Too many: 129"}},
	{"too many expressions", manyExpressions(expression.MaxExpressions + 1), []string{"cel.expressions: Too many: 257"}},
}

func TestRefused(t *testing.T) {
	for _, tt := range slices.Concat(refused, beyondLimits) {
		t.Run(tt.name, func(t *testing.T) {
			v, problems := expression.CompileValidation(tt.cel, field.NewPath("cel"))
			if v != nil || len(problems) == 0 {
				t.Fatalf("compiled to %v with errors %v", v, problems)
			}
			hasAll(t, problems[0], tt.parts...)
			if n := len(problems[0].Error()); n > 2000 {
				t.Errorf("the error is %d bytes long", n)
			}
		})
	}
}

// accepted compile, whatever they give.
var accepted = []struct {
	name string
	cel  *v1alpha1.CELValidation
}{
	{"a literal", requirements("true")},
	{"space around it", requirements("  true\n")},
	{"as many variables as there may be", withVariables(requirements("variables.v127 == 128"), manyVariables(expression.MaxVariables)...)},
	{"as many expressions as there may be", manyExpressions(expression.MaxExpressions)},
	{"a variable with underscores", withVariables(requirements("variables.__a__dot__b == 1"), "__a__dot__b", "1")},
	{"a variable called as a name", withVariables(requirements("variables.object == 1"), "object", "1")},
	{"a variable of free type", withVariables(requirements("variables.a == 3 || variables.a == 'x'"), "a", "object.spec.replicas")},
	{"a local name that hides another", requirements("[1].all(object, object == 1)")},
	{"a chain", requirements("0" + strings.Repeat("+1", 200) + " > 0")},
	{"a wide conjunction", requirements("true" + strings.Repeat("&&true", 490))},
}

func TestAccepted(t *testing.T) {
	for _, tt := range accepted {
		t.Run(tt.name, func(t *testing.T) {
			v := compiled(t, tt.cel)
			violations, err := v.Evaluate(t.Context(), input(t))
			if err != nil || len(violations) > 0 {
				t.Errorf("violations %v, error %v, want none", violations, err)
			}
		})
	}
}

// TestEveryProblemIsReported holds that one error does not hide another.
func TestEveryProblemIsReported(t *testing.T) {
	v := withVariables(requirements("nope", "1", "variables.a == 1"), "a", "nope", "a-b", "1")
	v.Expressions[1].MessageExpression = "2"
	_, problems := expression.CompileValidation(v, nil)
	var got []string
	for _, p := range problems {
		got = append(got, p.Field)
	}
	want := "variables[0].expression variables[1].name expressions[0].expression expressions[1].expression expressions[1].messageExpression"
	if strings.Join(got, " ") != want {
		t.Errorf("problems of %v, want %s", got, want)
	}
}
