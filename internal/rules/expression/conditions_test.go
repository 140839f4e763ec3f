package expression_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// named makes conditions of names and expressions in turn.
func named(list ...string) []v1alpha1.CELCondition {
	var c []v1alpha1.CELCondition
	for i := 0; i < len(list); i += 2 {
		c = append(c, v1alpha1.CELCondition{Name: list[i], Expression: list[i+1]})
	}
	return c
}

func TestHold(t *testing.T) {
	const yes, no, broken = "object.spec.replicas == 3", "object.spec.replicas == 4", "object.spec.missing == 1"
	for _, tt := range []struct {
		name       string
		conditions []v1alpha1.CELCondition
		holds      bool
		which      string
		err        []string
	}{
		{"none", nil, true, "", nil},
		{"one true", named("a", yes), true, "", nil},
		{"all true", named("a", yes, "b", yes), true, "", nil},
		{"one false", named("a", no), false, "a", nil},
		{"one false without a name", named("", no), false, no, nil},
		{"the second false", named("a", yes, "b", no, "c", yes), false, "b", nil},
		{"the first false is named", named("a", no, "b", no), false, "a", nil},
		{"one fails", named("a", broken), false, "a", []string{`conditions[0].expression, condition "a" (` + broken + `)`, "no such key: missing"}},
		{"one without a name fails", named("", broken), false, broken, []string{"conditions[0].expression (" + broken + ")"}},
		{"one fails ahead of true", named("a", broken, "b", yes), false, "a", []string{"missing"}},
		{"one fails behind true", named("a", yes, "b", broken), false, "b", []string{"conditions[1]", "missing"}},
		{"one fails ahead of false", named("a", broken, "b", no), false, "b", nil},
		{"one fails behind false", named("a", no, "b", broken), false, "a", nil},
		{"the first that fails is named", named("a", broken, "b", broken+" && true"), false, "a", []string{"conditions[0]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, problems := expression.CompileConditions(tt.conditions, field.NewPath("conditions"))
			if len(problems) > 0 {
				t.Fatal(problems.ToAggregate())
			}
			if (c == nil) != (len(tt.conditions) == 0) {
				t.Errorf("%d conditions compile to %v", len(tt.conditions), c)
			}
			holds, which, err := c.Hold(t.Context(), input(t))
			if holds != tt.holds || which != tt.which {
				t.Errorf("hold %v by %q, want %v by %q", holds, which, tt.holds, tt.which)
			}
			hasAll(t, err, tt.err...)
		})
	}
}

func TestConditionsRefused(t *testing.T) {
	var many []v1alpha1.CELCondition
	for i := range expression.MaxConditions + 1 {
		many = append(many, named(fmt.Sprint(i), "true")...)
	}
	for _, tt := range []struct {
		name       string
		conditions []v1alpha1.CELCondition
		parts      []string
	}{
		{"empty", named("a", ""), []string{"conditions[0].expression: Required"}},
		{"not bool", named("a", "true", "b", "1"), []string{"conditions[1].expression", "has to give bool"}},
		{"variables", named("a", "variables.x == 1"), []string{"undefined field 'x'"}},
		{"two of a name", named("a", "true", "a", "false"), []string{"conditions[1].name: Duplicate"}},
		{"too many", many, []string{"conditions: Too many: 65"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, problems := expression.CompileConditions(tt.conditions, field.NewPath("conditions"))
			if c != nil || len(problems) != 1 {
				t.Fatalf("compiled to %v with errors %v", c, problems)
			}
			hasAll(t, problems[0], tt.parts...)
		})
	}
	if c, problems := expression.CompileConditions(named("", "true", "", "true"), nil); c == nil || len(problems) > 0 {
		t.Errorf("conditions without names are refused: %v", problems)
	}
}

func TestCondition(t *testing.T) {
	c, problems := expression.CompileCondition("request.userInfo.username == 'jane'", field.NewPath("when"))
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	if holds, _, err := c.Hold(t.Context(), input(t)); !holds || err != nil {
		t.Errorf("holds %v, error %v", holds, err)
	}
	_, problems = expression.CompileCondition("request.spec.reason != ''", field.NewPath("when"))
	hasAll(t, problems.ToAggregate(), "when: Invalid", "undefined field 'spec'")
	_, problems = expression.CompileCondition("", nil)
	hasAll(t, problems.ToAggregate(), "Required")
}

// TestApproval holds that request is the object there, and everything else is as
// it is elsewhere.
func TestApproval(t *testing.T) {
	in := &expression.Input{
		Object:    tree(t, `{kind: PolicyExceptionRequest, spec: {reason: a ticket, duration: 7d}}`),
		Request:   input(t).Request,
		Namespace: input(t).Namespace,
	}
	for _, tt := range []struct {
		name, expression string
		want             bool
		err              string
	}{
		{"a field", "request.spec.reason != ''", true, ""},
		{"a field that is another", "request.spec.duration == '30d'", false, ""},
		{"a missing field", "request.spec.missing == ''", false, "no such key: missing"},
		{"no AdmissionRequest", "has(request.userInfo)", false, ""},
		{"the namespace", "namespaceObject.metadata.labels['env'] == 'prod' && request.kind == object.kind", true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, problems := expression.CompileApproval(tt.expression, field.NewPath("approvalCondition"))
			if len(problems) > 0 {
				t.Fatal(problems.ToAggregate())
			}
			holds, _, err := c.Hold(t.Context(), in)
			if holds != tt.want {
				t.Errorf("holds %v, want %v", holds, tt.want)
			}
			if tt.err == "" {
				hasAll(t, err)
			} else {
				hasAll(t, err, "approvalCondition (", tt.err)
			}
		})
	}
}

func TestNeedsNamespace(t *testing.T) {
	message := requirements("true")
	message.Expressions[0].MessageExpression = "namespaceObject.metadata.name"
	for _, tt := range []struct {
		name string
		cel  *v1alpha1.CELValidation
		want bool
	}{
		{"no", requirements("object.metadata.namespace == 'a'"), false},
		{"namespace of the request", requirements("request.namespace == 'a'"), false},
		{"as a field", requirements("object.namespaceObject == 'a'"), false},
		{"as text", requirements("object.x == 'namespaceObject'"), false},
		{"compared", requirements("true", "namespaceObject != null"), true},
		{"a field of it", requirements("has(namespaceObject.metadata.labels)"), true},
		{"in a comprehension", requirements("[1].all(x, namespaceObject.metadata.generation == x)"), true},
		{"with a dot ahead", requirements(".namespaceObject == null"), true},
		{"by dyn", requirements("dyn(namespaceObject) == null"), true},
		{"in a variable", withVariables(requirements("variables.n == ''"), "n", "namespaceObject.metadata.name"), true},
		{"in a message", message, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := compiled(t, tt.cel).NeedsNamespace(); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if tt.cel.Variables != nil || tt.cel == message {
				return
			}
			last := tt.cel.Expressions[len(tt.cel.Expressions)-1].Expression
			c, problems := expression.CompileConditions(named("a", "true", "b", last), nil)
			if got := c.NeedsNamespace(); got != tt.want || len(problems) > 0 {
				t.Errorf("as a condition: got %v, errors %v, want %v", got, problems, tt.want)
			}
		})
	}
	if (*expression.Conditions)(nil).NeedsNamespace() {
		t.Error("no conditions need a namespace")
	}
}
