package expression

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// expression is one that is compiled. It is not changed any more, and safe for
// concurrent use.
type expression struct {
	// path and text say where it stands and what it is.
	path, text string
	// name by which its author calls it, if any.
	name    string
	program cel.Program
	output  *cel.Type
	// needsNamespace and readsCluster are set if it names namespaceObject or cluster.
	needsNamespace, readsCluster bool
	// labels of the namespace that it reads, and whether it goes by nothing else.
	labels        match.LabelKeys
	onlyNamespace bool
}

// checkFrequency is after how many turns of a comprehension a deadline is looked
// at. It is less than in Kubernetes, where it is 100, since a turn can make a
// call that takes milliseconds.
const checkFrequency = 10

// compile compiles text for a result of the type want; nil: of any type.
func (in *environment) compile(text string, want *cel.Type, path *field.Path) (e *expression, problem *field.Error) {
	// The compiler reads what authors of policies write. If it had a flaw that
	// lets one text bring it down, that text must not take the program with it.
	defer func() {
		if p := recover(); p != nil {
			e, problem = nil, field.Invalid(path, cut(text), fmt.Sprintf("the compiler failed: %v", p))
		}
	}()
	if strings.TrimSpace(text) == "" {
		return nil, field.Required(path, "an expression belongs here")
	}
	if err := checkText(text); err != nil {
		return nil, field.Invalid(path, cut(text), err.Error())
	}
	parsed, issues := in.env.Parse(text)
	if issues.Err() != nil {
		return nil, field.Invalid(path, cut(text), explain(issues, text))
	}
	if err := checkShape(parsed); err != nil {
		return nil, field.Invalid(path, cut(text), err.Error())
	}
	checked, issues := in.env.Check(parsed)
	if issues.Err() != nil {
		return nil, field.Invalid(path, cut(text), explain(issues, text))
	}
	if err := in.checkReads(checked); err != nil {
		return nil, field.Invalid(path, cut(text), err.Error())
	}
	if want != nil && !checked.OutputType().IsExactType(want) {
		return nil, field.Invalid(path, cut(text), fmt.Sprintf("gives %s, and has to give %s", checked.OutputType(), want))
	}
	program, err := in.env.Program(checked, cel.InterruptCheckFrequency(checkFrequency), costOfLoops(),
		cel.CustomDecoratorV2(loopsOf(checked.NativeRep()).around(in.guard.decorate)))
	if err != nil {
		return nil, field.Invalid(path, cut(text), err.Error())
	}
	return &expression{
		path: path.String(), text: text, program: program, output: checked.OutputType(),
		needsNamespace: names(checked.NativeRep(), namespaceName), readsCluster: names(checked.NativeRep(), clusterName),
		labels: labelsRead(checked.NativeRep()), onlyNamespace: onlyNamespace(checked.NativeRep()),
	}, nil
}

// names reports whether an expression refers to a variable.
func names(tree *ast.AST, variable string) bool {
	for _, reference := range tree.ReferenceMap() {
		if strings.TrimPrefix(reference.Name, ".") == variable {
			return true
		}
	}
	return false
}

// String names the expression in errors.
func (e *expression) String() string {
	if e.name != "" {
		return fmt.Sprintf("%s, condition %q (%s)", e.path, e.name, cut(e.text))
	}
	return fmt.Sprintf("%s (%s)", e.path, cut(e.text))
}

// shown is how much of an expression an error shows, in bytes.
const shown = 300

// cut returns text on one line, and no more of it than an error should show.
func cut(text string) string {
	// What is cut off below cannot come from further on, and a line of a hundred
	// thousand words need not be split.
	long := len(text) > 4*shown
	if long {
		text = text[:4*shown]
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > shown {
		text, long = text[:shown], true
	}
	if text = strings.ToValidUTF8(text, "\uFFFD"); long {
		text += "..."
	}
	return text
}
