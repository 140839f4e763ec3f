package expression

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

const (
	// maxPattern is how many parts a regular expression may have once its
	// repetitions are written out, as they are for matching.
	maxPattern = 5000
	// maxMatching is how many parts times bytes a text may be matched for, less
	// than a second's work.
	maxMatching = 20_000_000
)

// patternFunctions take a text and a regular expression.
var patternFunctions = map[string]bool{"matches": true, "find": true, "findAll": true}

// patternSize is how many parts a regular expression has, with repetitions
// written out.
func patternSize(re *syntax.Regexp) int {
	size := 1
	switch re.Op {
	case syntax.OpLiteral:
		size = len(re.Rune)
	case syntax.OpCharClass:
		size += len(re.Rune) / 2
	}
	for _, sub := range re.Sub {
		size = min(size+patternSize(sub), tooMuch)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, tooMuch)
}

// tooMuch ends counting.
const tooMuch = 1 << 40

// sizeOf is the size of a regular expression, or 0 for what is none.
func sizeOf(pattern string) int {
	// One that is short and repeats nothing a number of times is no larger than it
	// looks.
	if len(pattern) <= 64 && !larger.MatchString(pattern) {
		return len(pattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return patternSize(parsed)
}

// larger is what makes a regular expression larger than it looks.
var larger = regexp.MustCompile(`\{[0-9]|\\[pP]|\(\?`)

// checkPattern returns an error for a regular expression that is too large, or
// too large for the text.
func checkPattern(args []ref.Val) error {
	if len(args) < 2 {
		return nil
	}
	pattern, ok := args[1].(types.String)
	if !ok {
		return nil
	}
	size := sizeOf(string(pattern))
	if size > maxPattern {
		return fmt.Errorf("the regular expression %q is too large: with its repetitions written out it has %d parts, and may have %d", cut(string(pattern)), size, maxPattern)
	}
	return checkMatching(args[0], size)
}

// checkMatching returns an error for a text that is too long for a regular
// expression of that size.
func checkMatching(text ref.Val, size int) error {
	if s, ok := text.(types.String); ok && size*len(s) > maxMatching {
		return fmt.Errorf("a text of %d bytes is too long for a regular expression of %d parts", len(s), size)
	}
	return nil
}

// literal returns the regular expression of a call, if it stands in the
// expression.
func literal(call interpreter.InterpretableCall) (string, bool) {
	if args := call.Args(); patternFunctions[call.Function()] && len(args) > 1 {
		if c, ok := args[1].(interpreter.InterpretableConst); ok {
			pattern, ok := c.Value().(types.String)
			return string(pattern), ok
		}
	}
	return "", false
}

// literalCall returns a call whose regular expression is compiled already.
func literalCall(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableV2, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	size := sizeOf(pattern)
	args := slices.Clone(call.Args())
	// Seen as a constant, it would be compiled once more, and matched unchecked.
	args[1] = struct{ interpreter.InterpretableV2 }{args[1]}
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), args, func(args ...ref.Val) ref.Val {
		text, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		if err := checkMatching(text, size); err != nil {
			return types.WrapErr(err)
		}
		switch call.Function() {
		case "matches":
			return types.Bool(re.MatchString(string(text)))
		case "find":
			return types.String(re.FindString(string(text)))
		}
		return findAll(re, string(text), args[2:])
	}), nil
}

// findAll returns every match, or as many as limit says.
func findAll(re *regexp.Regexp, text string, limit []ref.Val) ref.Val {
	n := -1
	if len(limit) > 0 {
		i, ok := limit[0].(types.Int)
		if !ok {
			return types.MaybeNoSuchOverloadErr(limit[0])
		}
		n = int(i)
	}
	return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(text, n))
}
