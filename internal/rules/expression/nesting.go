package expression

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// Some of the compiler's work grows much faster than the text: with the third to
// fourth power of how deep types are nested, with the square of how many calls
// there are, by doubling for each optMap in a chain. A kilobyte of text could
// keep it busy for minutes. In Kubernetes only administrators write expressions;
// here those who ask for an exception do so as well, hence these limits.
const (
	// MaxText is how many bytes all expressions of a validation, or all
	// conditions of a list, may have together.
	MaxText = 32 * 1024
	// maxNesting is how many calls, comprehensions, lists and maps may stand
	// within each other, or one after the other in a chain of calls. The macro map
	// counts as two, since it makes a list.
	maxNesting = 32
	// maxParts is how many calls, operators, comprehensions, lists and maps an
	// expression may be made of. The macro all counts as three.
	maxParts = 500
	// maxOptionalMaps is how often an expression may say optMap or optFlatMap.
	maxOptionalMaps = 4
	// maxTypeDepth is how deep lists and maps may be nested in the type of a
	// variable, which others build on.
	maxTypeDepth = 16
)

// checkText returns an error for text that may not be parsed.
func checkText(text string) error {
	if n := strings.Count(text, "optMap") + strings.Count(text, "optFlatMap"); n > maxOptionalMaps {
		return fmt.Errorf("says optMap or optFlatMap %d times, and may %d times; take parts of it out into variables", n, maxOptionalMaps)
	}
	return nil
}

// checkShape returns an error for a parsed expression whose types may not be
// checked.
func checkShape(parsed *cel.Ast) error {
	s := shape{}
	depth := s.visit(ast.NavigateAST(parsed.NativeRep()))
	switch {
	case depth > maxNesting:
		return fmt.Errorf("nests or chains %d calls, lists and maps, and may %d; take parts of it out into variables", depth, maxNesting)
	case s.parts > maxParts:
		return fmt.Errorf("is made of %d calls, operators, lists and maps, and may be of %d; take parts of it out into variables, or make several of it", s.parts, maxParts)
	}
	return s.pattern
}

// shape is what is counted in an expression.
type shape struct {
	parts int
	// pattern is the error of a regular expression that is too large.
	pattern error
}

// visit counts what stands in e, and returns how much of what can make a type
// deeper is on the path that has most of it.
func (s *shape) visit(e ast.NavigableExpr) int {
	deepest := 0
	for _, child := range e.Children() {
		deepest = max(deepest, s.visit(child))
	}
	switch e.Kind() {
	case ast.ComprehensionKind, ast.ListKind, ast.MapKind, ast.StructKind:
		s.parts++
		deepest++
	case ast.CallKind:
		s.parts++
		if s.visitPattern(e.AsCall()); isFunction(e.AsCall().FunctionName()) {
			deepest++
		}
	}
	return deepest
}

// visitPattern looks at the regular expression of a call, if it is a literal. It
// is compiled when types are checked; others are when they are evaluated.
func (s *shape) visitPattern(call ast.CallExpr) {
	args := call.Args()
	if !patternFunctions[call.FunctionName()] || len(args) == 0 {
		return
	}
	// As a function, the pattern is the second argument; as a method, the first.
	arg := args[0]
	if !call.IsMemberFunction() {
		arg = args[len(args)-1]
	}
	if arg.Kind() != ast.LiteralKind {
		return
	}
	text, ok := arg.AsLiteral().(types.String)
	if !ok {
		return
	}
	// One that is not a regular expression is for the checker to refuse.
	if parsed, err := syntax.Parse(string(text), syntax.Perl); err == nil {
		if size := patternSize(parsed); size > maxPattern && s.pattern == nil {
			s.pattern = fmt.Errorf("the regular expression %q is too large: with its repetitions written out it has %d parts, and may have %d", cut(string(text)), size, maxPattern)
		}
	}
}

// isFunction tells functions from operators, which are called "_+_", "!_" and
// the like.
func isFunction(name string) bool {
	return name != "" && (name[0] >= 'a' && name[0] <= 'z' || name[0] >= 'A' && name[0] <= 'Z')
}

// typeDepth is how deep the parameters of a type are nested.
func typeDepth(t *cel.Type) int {
	deepest := 0
	for _, parameter := range t.Parameters() {
		deepest = max(deepest, typeDepth(parameter)+1)
	}
	return deepest
}
