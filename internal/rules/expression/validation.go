package expression

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	limits "k8s.io/apiserver/pkg/apis/cel"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// How many variables and expressions one validation may have. Kubernetes sets no
// number; these are far above what is written by hand, and bound how deep
// variables can build on each other.
const (
	MaxVariables   = 128
	MaxExpressions = 256
)

// Validation is a CELValidation, compiled. It is not changed any more, and safe
// for concurrent use.
type Validation struct {
	variables      *variableSet
	requirements   []requirement
	needsNamespace bool
	readsCluster   bool
}

// requirement is one expression that has to be true, with what to say if not.
type requirement struct {
	*expression
	message string
	// messageExpression may be nil.
	messageExpression *expression
}

// Violation is an expression that was false.
type Violation struct {
	// Index of the expression.
	Index int
	// Expression as it was written.
	Expression string
	// Message of messageExpression, else message, else one that shows the
	// expression. It is never empty.
	Message string
	// Evaluated is set where the message was made by messageExpression, and so can
	// hold what stands in the request.
	Evaluated bool
}

// CompileValidation compiles every expression and checks its type. The errors
// carry the path, the expression and what the compiler says; if there are any,
// the validation is nil.
func CompileValidation(v *v1alpha1.CELValidation, path *field.Path) (*Validation, field.ErrorList) {
	return compileValidation(admission, v, path)
}

// CompileReadingValidation is CompileValidation for expressions that may read the
// cluster, as far as granted says.
func CompileReadingValidation(v *v1alpha1.CELValidation, granted Granted, path *field.Path) (*Validation, field.ErrorList) {
	return compileValidation(func() (*environment, error) {
		shared, err := contextual()
		if err != nil {
			return nil, err
		}
		own := *shared
		own.granted = granted
		return &own, nil
	}, v, path)
}

func compileValidation(in func() (*environment, error), v *v1alpha1.CELValidation, path *field.Path) (*Validation, field.ErrorList) {
	if v == nil || len(v.Expressions) == 0 {
		return nil, field.ErrorList{field.Required(path.Child("expressions"), "at least one expression belongs here")}
	}
	if n := len(v.Expressions); n > MaxExpressions {
		return nil, field.ErrorList{field.TooMany(path.Child("expressions"), n, MaxExpressions)}
	}
	if n := len(v.Variables); n > MaxVariables {
		return nil, field.ErrorList{field.TooMany(path.Child("variables"), n, MaxVariables)}
	}
	if textOf(v) > MaxText {
		return nil, field.ErrorList{field.TooLong(path, "", MaxText)}
	}
	standard, err := in()
	if err != nil {
		return nil, field.ErrorList{field.InternalError(path, err)}
	}
	compiled := &Validation{}
	env, problems := standard, field.ErrorList(nil)
	if len(v.Variables) > 0 {
		env, compiled.variables, problems = compileVariables(standard, v.Variables, path.Child("variables"))
	}
	for i := range v.Expressions {
		r, wrong := compileRequirement(env, &v.Expressions[i], path.Child("expressions").Index(i))
		compiled.requirements = append(compiled.requirements, r)
		problems = append(problems, wrong...)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	compiled.needsNamespace = compiled.any(func(x *expression) bool { return x.needsNamespace })
	compiled.readsCluster = compiled.any(func(x *expression) bool { return x.readsCluster })
	return compiled, nil
}

// textOf is how long all expressions are together.
func textOf(v *v1alpha1.CELValidation) int {
	n := 0
	for i := range v.Variables {
		n += len(v.Variables[i].Expression)
	}
	for i := range v.Expressions {
		n += len(v.Expressions[i].Expression) + len(v.Expressions[i].MessageExpression)
	}
	return n
}

// reserved are the words of CEL that cannot be names.
var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
	"namespace", "null", "package", "return", "true", "var", "void", "while",
}

var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// compileVariables compiles variables one after the other, each with those ahead
// of it, and returns the environment that has them all.
func compileVariables(standard *environment, variables []v1alpha1.CELVariable, path *field.Path) (*environment, *variableSet, field.ErrorList) {
	declared := map[string]*cel.Type{}
	env, err := standard.withVariables(declared)
	if err != nil {
		return standard, nil, field.ErrorList{field.InternalError(path, err)}
	}
	set := &variableSet{index: map[string]int{}}
	var problems field.ErrorList
	for i, variable := range variables {
		name := path.Index(i).Child("name")
		switch _, twice := declared[variable.Name]; {
		case variable.Name == "":
			problems = append(problems, field.Required(name, "a variable needs a name"))
		case !identifier.MatchString(variable.Name) || slices.Contains(reserved, variable.Name):
			problems = append(problems, field.Invalid(name, cut(variable.Name), "is not an identifier of CEL: letters, digits and _, no digit first, and no reserved word"))
		case twice:
			problems = append(problems, field.Duplicate(name, variable.Name))
		}
		x, problem := env.compile(variable.Expression, nil, path.Index(i).Child("expression"))
		if problem != nil {
			problems = append(problems, problem)
			// What uses it is not wrong for that.
			declared[variable.Name] = cel.DynType
			continue
		}
		if depth := typeDepth(x.output); depth > maxTypeDepth {
			problems = append(problems, field.Invalid(path.Index(i).Child("expression"), cut(variable.Expression),
				fmt.Sprintf("gives lists and maps that are nested %d deep, and a variable may %d", depth, maxTypeDepth)))
			declared[variable.Name] = cel.DynType
			continue
		}
		x.name = variable.Name
		declared[variable.Name] = x.output
		set.index[variable.Name] = len(set.list)
		set.list = append(set.list, x)
	}
	return env, set, problems
}

func compileRequirement(env *environment, e *v1alpha1.CELExpression, path *field.Path) (requirement, field.ErrorList) {
	var problems field.ErrorList
	r := requirement{message: strings.TrimSpace(e.Message)}
	var problem *field.Error
	if r.expression, problem = env.compile(e.Expression, cel.BoolType, path.Child("expression")); problem != nil {
		problems = append(problems, problem)
	}
	if e.MessageExpression != "" {
		if r.messageExpression, problem = env.compile(e.MessageExpression, cel.StringType, path.Child("messageExpression")); problem != nil {
			problems = append(problems, problem)
		}
	}
	return r, problems
}

// any reports whether something holds for one of the expressions.
func (v *Validation) any(holds func(*expression) bool) bool {
	if v.variables != nil && slices.ContainsFunc(v.variables.list, holds) {
		return true
	}
	return slices.ContainsFunc(v.requirements, func(r requirement) bool {
		return holds(r.expression) || r.messageExpression != nil && holds(r.messageExpression)
	})
}

func anyNeedsNamespace(list []*expression) bool {
	return slices.ContainsFunc(list, func(x *expression) bool { return x.needsNamespace })
}

// NeedsNamespace reports whether anything in it names namespaceObject.
func (v *Validation) NeedsNamespace() bool { return v.needsNamespace }

// ReadsCluster reports whether anything in it names cluster.
func (v *Validation) ReadsCluster() bool { return v.readsCluster }

// Evaluate returns what in does not meet, in the order of the expressions.
//
// The error says which expressions could not be evaluated, and why. There can be
// violations beside it: they stand whatever the others would have given, so that
// an expression that is false is not outdone by one that cannot be evaluated.
func (v *Validation) Evaluate(ctx context.Context, in *Input) ([]Violation, error) {
	e, over := newEvaluation(ctx, in, limits.RuntimeCELCostBudget)
	defer over()
	e.variables = &variableValues{in: e, set: v.variables}
	var violations []Violation
	var failures []error
	for i, r := range v.requirements {
		ok, err := e.holds(r.expression)
		switch {
		case err != nil:
			failures = append(failures, err)
		case !ok:
			message, evaluated := r.explain(e)
			violations = append(violations, Violation{Index: i, Expression: r.text, Message: message, Evaluated: evaluated})
		}
		if err != nil && e.ended() {
			break
		}
	}
	return violations, errors.Join(failures...)
}

// explain words the violation of a requirement. A message that cannot be computed is
// not a reason to forget the violation, whatever is wrong with it.
func (r *requirement) explain(e *evaluation) (message string, evaluated bool) {
	if r.messageExpression != nil {
		if message := e.message(r.messageExpression); message != "" {
			return message, true
		}
	}
	if r.message != "" {
		return r.message, false
	}
	return fmt.Sprintf("failed expression: %s", cut(r.text)), false
}

// message evaluates an expression that gives a message. It returns none where
// that fails, and for what is empty, longer than 5 KiB or has line breaks.
func (e *evaluation) message(x *expression) string {
	value, err := e.run(x)
	if err != nil {
		return ""
	}
	text, ok := value.(types.String)
	message := strings.TrimSpace(string(text))
	if !ok || len(message) > limits.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(message, "\n") {
		return ""
	}
	return message
}
