package expression

import (
	"context"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	limits "k8s.io/apiserver/pkg/apis/cel"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// MaxConditions is how many conditions there may be in one list, as many as
// Kubernetes allows matchConditions.
const MaxConditions = 64

// Conditions are expressions that have to be true together. They are not changed
// any more, and safe for concurrent use. None, as nil, hold.
type Conditions struct {
	list            []*expression
	requestIsObject bool
}

// CompileConditions compiles conditions and checks that each gives a bool. It
// returns nil for none, and if there are errors.
func CompileConditions(c []v1alpha1.CELCondition, path *field.Path) (*Conditions, field.ErrorList) {
	if len(c) == 0 {
		return nil, nil
	}
	if len(c) > MaxConditions {
		return nil, field.ErrorList{field.TooMany(path, len(c), MaxConditions)}
	}
	text := 0
	for i := range c {
		text += len(c[i].Expression)
	}
	if text > MaxText {
		return nil, field.ErrorList{field.TooLong(path, "", MaxText)}
	}
	standard, err := admission()
	if err != nil {
		return nil, field.ErrorList{field.InternalError(path, err)}
	}
	var problems field.ErrorList
	conditions, seen := &Conditions{}, map[string]bool{}
	for i, condition := range c {
		if condition.Name != "" && seen[condition.Name] {
			problems = append(problems, field.Duplicate(path.Index(i).Child("name"), condition.Name))
		}
		seen[condition.Name] = true
		x, problem := standard.compile(condition.Expression, cel.BoolType, path.Index(i).Child("expression"))
		if problem != nil {
			problems = append(problems, problem)
			continue
		}
		x.name = condition.Name
		conditions.list = append(conditions.list, x)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return conditions, nil
}

// CompileCondition compiles one expression that gives a bool, with the variables
// of a ValidatingAdmissionPolicy.
func CompileCondition(expression string, path *field.Path) (*Conditions, field.ErrorList) {
	return compileSingle(admission, expression, path)
}

// CompileApproval compiles the approvalCondition of an ExceptionPolicy. In it,
// request is the PolicyExceptionRequest, which is given as the Object of the
// Input, and no AdmissionRequest.
func CompileApproval(expression string, path *field.Path) (*Conditions, field.ErrorList) {
	c, problems := compileSingle(approval, expression, path)
	if c != nil {
		c.requestIsObject = true
	}
	return c, problems
}

func compileSingle(in func() (*environment, error), text string, path *field.Path) (*Conditions, field.ErrorList) {
	if len(text) > MaxText {
		return nil, field.ErrorList{field.TooLong(path, "", MaxText)}
	}
	e, err := in()
	if err != nil {
		return nil, field.ErrorList{field.InternalError(path, err)}
	}
	x, problem := e.compile(text, cel.BoolType, path)
	if problem != nil {
		return nil, field.ErrorList{problem}
	}
	return &Conditions{list: []*expression{x}}, nil
}

// NeedsNamespace reports whether any of the conditions names namespaceObject.
func (c *Conditions) NeedsNamespace() bool { return c != nil && anyNeedsNamespace(c.list) }

// Hold reports whether all conditions are true. If one is false, they do not
// hold, whatever the others are, and which is the name of the first that is, or
// its expression if it has no name. Only where none is false is it an error that
// one could not be evaluated; then which names that one.
func (c *Conditions) Hold(ctx context.Context, in *Input) (holds bool, which string, err error) {
	if c == nil {
		return true, "", nil
	}
	e, over := newEvaluation(ctx, in, limits.RuntimeCELCostBudgetMatchConditions)
	defer over()
	e.requestIsObject = c.requestIsObject
	for _, x := range c.list {
		ok, problem := e.holds(x)
		if problem == nil && !ok {
			return false, x.label(), nil
		}
		if problem != nil && err == nil {
			which, err = x.label(), problem
		}
		if problem != nil && e.ended() {
			break
		}
	}
	return err == nil, which, err
}

// label is what an explanation calls a condition.
func (e *expression) label() string {
	if e.name != "" {
		return e.name
	}
	return cut(e.text)
}
