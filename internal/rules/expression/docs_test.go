package expression_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// example is a block of docs/cel.md that begins with "```yaml example".
type example struct {
	Validate          *v1alpha1.Validation    `json:"validate"`
	Conditions        []v1alpha1.CELCondition `json:"conditions"`
	ApprovalCondition string                  `json:"approvalCondition"`

	Object    any               `json:"object"`
	OldObject any               `json:"oldObject"`
	Namespace *corev1.Namespace `json:"namespace"`
	Request   *struct {
		Operation request.Operation         `json:"operation"`
		UserInfo  authenticationv1.UserInfo `json:"userInfo"`
	} `json:"request"`

	Gives result `json:"gives"`
}

// result is what an example gives: messages, or whether conditions hold and
// which decided, and what stands in the error or the refusal.
type result struct {
	Violations []string `json:"violations"`
	Holds      bool     `json:"holds"`
	Which      string   `json:"which"`
	Error      string   `json:"error"`
	Refused    string   `json:"refused"`
}

// TestExamples runs the examples of docs/cel.md.
func TestExamples(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cel.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "\n```yaml example\n")
	for i, block := range blocks[1:] {
		text, _, closed := strings.Cut(block, "\n```\n")
		if !closed {
			t.Fatalf("example %d is not closed", i)
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var e example
			if err := yaml.UnmarshalStrict([]byte(text), &e); err != nil {
				t.Fatal(err)
			}
			runExample(t, &e)
		})
	}
	if len(blocks) < 10 {
		t.Errorf("there are %d examples", len(blocks)-1)
	}
}

func runExample(t *testing.T, e *example) {
	t.Helper()
	in := e.input(t)
	var got result
	var conditions *expression.Conditions
	var problems field.ErrorList
	var err error
	switch {
	case e.Validate != nil:
		var v *expression.Validation
		if v, problems = expression.CompileValidation(e.Validate.CEL, field.NewPath("cel")); len(problems) == 0 {
			var violations []expression.Violation
			violations, err = v.Evaluate(t.Context(), in)
			for _, violation := range violations {
				got.Violations = append(got.Violations, violation.Message)
			}
		}
	case e.ApprovalCondition != "":
		conditions, problems = expression.CompileApproval(e.ApprovalCondition, field.NewPath("approvalCondition"))
	default:
		conditions, problems = expression.CompileConditions(e.Conditions, field.NewPath("conditions"))
	}
	if conditions != nil {
		got.Holds, got.Which, err = conditions.Hold(t.Context(), in)
	}
	if e.Gives.Error != "" {
		hasAll(t, err, e.Gives.Error)
		got.Error, got.Which = e.Gives.Error, e.Gives.Which
	} else if err != nil {
		t.Error(err)
	}
	if e.Gives.Refused != "" {
		hasAll(t, problems.ToAggregate(), e.Gives.Refused)
		got.Refused = e.Gives.Refused
	} else if len(problems) > 0 {
		t.Error(problems.ToAggregate())
	}
	if len(e.Gives.Violations) == 0 {
		e.Gives.Violations = nil
	}
	if diff := cmp.Diff(e.Gives, got); diff != "" {
		t.Errorf("-page +program:\n%s", diff)
	}
}

// input is what the example is about.
func (e *example) input(t *testing.T) *expression.Input {
	t.Helper()
	in := &expression.Input{Namespace: e.Namespace}
	for from, to := range map[*any]*map[string]any{&e.Object: &in.Object, &e.OldObject: &in.OldObject} {
		if *from == nil {
			continue
		}
		text, err := yaml.Marshal(*from)
		if err != nil {
			t.Fatal(err)
		}
		*to = tree(t, string(text))
	}
	if e.Request != nil {
		in.Request = &expression.Request{
			Operation: e.Request.Operation,
			UserInfo:  request.User{Name: e.Request.UserInfo.Username, Groups: e.Request.UserInfo.Groups},
		}
	}
	return in
}
