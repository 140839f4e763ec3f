package expression

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// results are the checks of functions whose result, or work, can be much larger
// than what they are given, which weighs total.
var results = map[string]func(args []ref.Val, total int) error{
	"lists.range":     checkRange,
	"replace":         checkReplace,
	"join":            checkJoin,
	"format":          checkFormat,
	"distinct":        checkPairs,
	"sets.contains":   checkPairs,
	"sets.equivalent": checkPairs,
	"sets.intersects": checkPairs,
}

const (
	// maxResult is how many bytes a text may have that a function makes.
	maxResult = 1 << 20
	// maxPairs is how many comparisons a function may make of all with all.
	maxPairs = 2_000_000
)

func checkRange(args []ref.Val, _ int) error {
	if n, ok := args[0].(types.Int); ok && n > maxWeight {
		return fmt.Errorf("lists.range would give %d items, and may give %d", int64(n), maxWeight)
	}
	return nil
}

func checkReplace(args []ref.Val, _ int) error {
	var texts [3]string
	for i := range texts {
		text, ok := args[min(i, len(args)-1)].(types.String)
		if !ok {
			return nil
		}
		texts[i] = string(text)
	}
	n := strings.Count(texts[0], texts[1])
	return checkLength("replace", len(texts[0])+n*max(len(texts[2])-len(texts[1]), 0))
}

func checkJoin(args []ref.Val, total int) error {
	list, ok := args[0].(traits.Lister)
	if !ok || len(args) < 2 {
		return nil
	}
	separator, ok := args[1].(types.String)
	size, isInt := list.Size().(types.Int)
	if !ok || !isInt {
		return nil
	}
	return checkLength("join", int(size)*len(separator))
}

// precision is that of a number in a template for format.
var precision = regexp.MustCompile(`%\.[0-9]{4}`)

func checkFormat(args []ref.Val, _ int) error {
	if template, ok := args[0].(types.String); ok && precision.MatchString(string(template)) {
		return fmt.Errorf("format has a precision of more than three digits")
	}
	return nil
}

func checkLength(name string, bytes int) error {
	if bytes > maxResult {
		return fmt.Errorf("%s would give a text of %d bytes, and may give %d", name, bytes, maxResult)
	}
	return nil
}

// checkPairs is for functions that compare every item with every other.
func checkPairs(args []ref.Val, total int) error {
	items := 0
	for _, arg := range args {
		if list, ok := arg.(traits.Lister); ok {
			if size, ok := list.Size().(types.Int); ok {
				items = max(items, int(size))
			}
		}
	}
	if items*total > maxPairs {
		return fmt.Errorf("there are too many items to compare all with all: %d", items)
	}
	return nil
}
