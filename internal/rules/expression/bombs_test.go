package expression_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// doubled are variables d0 to dn, each twice the one ahead of it.
func doubled(first string, n int, double string) []string {
	list := []string{"d0", first}
	for i := 1; i <= n; i++ {
		list = append(list, fmt.Sprintf("d%d", i), strings.ReplaceAll(double, "X", fmt.Sprintf("variables.d%d", i-1)))
	}
	return list
}

// evaluationBombs take little text, and without a check of what functions are
// given hours or gigabytes.
var evaluationBombs = []struct {
	name      string
	variables []string
	text      string
	err       string
}{
	{"a long range", nil, "lists.range(100000000000).size() > 0", "lists.range would give"},
	{"a range of a range", nil, "lists.range(100000).map(x, lists.range(100000)).size() > 0", "costs more"},
	{"replaced by much", doubled("'aaaaaaaa'", 16, "X + X"), "variables.d16.replace('a', variables.d16).size() > 0", "replace would give"},
	{"nothing replaced by much", doubled("'aaaaaaaa'", 16, "X + X"), "variables.d16.replace('', variables.d16).size() > 0", "replace would give"},
	{"replaced n times", doubled("'aaaaaaaa'", 16, "X + X"), "variables.d16.replace('a', variables.d16, 100000).size() > 0", "replace would give"},
	{"joined by much", doubled("'aaaaaaaa'", 16, "X + X"), "variables.d12.split('').join(variables.d16).size() > 0", "join would give"},
	{"much joined", doubled("'aaaaaaaa'", 16, "X + X"), "lists.range(2000).map(x, variables.d16).join().size() > 0", "join is given too much"},
	{"format with a precision", nil, "'%.1000000000f'.format([1.5]).size() > 0", "precision"},
	{"format of a list", doubled("[1]", 40, "dyn([X, X])"), "'%s'.format([variables.d40]).size() > 0", "format is given too much"},
	{"lists compared", doubled("[1]", 40, "dyn([X, X])"), "variables.d40 == dyn([variables.d39, variables.d39])", "== is given too much"},
	{"lists that differ", doubled("[1]", 40, "dyn([X, X])"), "variables.d40 != dyn([variables.d39, variables.d39])", "!= is given too much"},
	{"maps compared", doubled("{1: 1}", 40, "dyn({1: X, 2: X})"), "variables.d40 == dyn({1: variables.d39, 2: variables.d39})", "== is given too much"},
	{"optional values compared", doubled("[1]", 40, "dyn([X, X])"), "optional.of(variables.d40) == optional.of(variables.d40)", "given too much"},
	{"a list in a list", doubled("[1]", 40, "dyn([X, X])"), "variables.d40 in [variables.d40]", "in is given too much"},
	{"a wide list", doubled("[1]", 40, "X + X"), "variables.d40.reverse().size() > 0", "reverse is given too much"},
	{"a wide list compared", doubled("[1]", 40, "X + X"), "variables.d40 == variables.d40", "cost more"},
	{"a wide list searched", doubled("[1]", 40, "X + X"), "2 in variables.d40", "cost more"},
	{"a wide list flattened", doubled("[[1]]", 40, "X + X"), "variables.d40.flatten().size() > 0", "cost more"},
	{"a wide list walked", doubled("[1]", 40, "X + X"), "variables.d40.all(x, x == 1)", "cannot be evaluated"},
	{"distinct", nil, "lists.range(90000).distinct().size() > 0", "cost more"},
	{"sets", nil, "sets.contains(lists.range(40000), lists.range(40000))", "cost more"},
	{"a key that is a list", doubled("[1]", 40, "dyn([X, X])"), "dyn({1: 2})[variables.d40] == 2", ""},
	{"a key of the object that is a list", doubled("[1]", 40, "dyn([X, X])"), "object[variables.d40] == 2", ""},
	{"an optional key that is a list", doubled("[1]", 40, "dyn([X, X])"), "!object[?variables.d40].hasValue()", ""},
	{"a key of a map that is a list", doubled("[1]", 40, "dyn([X, X])"), "{variables.d40: 1}.size() == 1", ""},
	{"a map made of keys that are lists", doubled("[1]", 40, "dyn([X, X])"), "[variables.d40].transformMapEntry(i, v, {v: 1}).size() == 1", ""},
	{"an index that is a list", doubled("[1]", 40, "dyn([X, X])"), "[1][dyn(variables.d40)] == 1", ""},
	{"as a text", doubled("[1]", 40, "dyn([X, X])"), "string(variables.d40) == ''", ""},
	{"as a number", doubled("[1]", 40, "dyn([X, X])"), "int(variables.d40) == 1", ""},
	{"added to a number", doubled("[1]", 40, "dyn([X, X])"), "variables.d40 + 1 == 1", ""},
	{"where a bool belongs", doubled("[1]", 40, "dyn([X, X])"), "variables.d40 && true", ""},
	{"a bool of lists in a comprehension", doubled("[1]", 40, "dyn([X, X])"), "[1].all(x, variables.d40)", ""},
	{"lists ordered", doubled("[1]", 40, "dyn([X, X])"), "variables.d40 < variables.d40", ""},
	{"a regular expression made of text", doubled("'a{1000}'", 12, "X + X"), "'a'.matches(variables.d9)", "is too large"},
	{"find by one", doubled("'a{1000}'", 12, "X + X"), "'a'.find(variables.d9) == ''", "is too large"},
	{"findAll by one", doubled("'a{1000}'", 12, "X + X"), "'a'.findAll(variables.d9, 3).size() == 0", "is too large"},
	{"a long text and a large regular expression", doubled("'aaaaaaaa'", 16, "X + X"), "variables.d16.matches('(x+x+){1,500}y')", "too long for a regular expression"},
	{"find of one", doubled("'aaaaaaaa'", 16, "X + X"), "variables.d16.find('(x+x+){1,500}y') == ''", "too long for a regular expression"},
	{"findAll of one", doubled("'aaaaaaaa'", 16, "X + X"), "variables.d16.findAll('(x+x+){1,500}y').size() == 0", "too long for a regular expression"},
	{"an error with a long text", doubled("'aaaaaaaa'", 16, "X + X"), "int(variables.d16) == 1", ""},
	{"a regular expression that is none, and long", doubled("'(aaaaaaa'", 12, "X + X"), "'a'.matches(variables.d12)", ""},
}

func TestEvaluationBombs(t *testing.T) {
	for _, tt := range evaluationBombs {
		t.Run(tt.name, func(t *testing.T) {
			v := compiled(t, withVariables(requirements(tt.text), tt.variables...))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			within(t, 500, func() {
				violations, err := v.Evaluate(ctx, input(t))
				if tt.err != "" {
					hasAll(t, err, tt.err)
				} else if err == nil && len(violations) == 0 && !strings.Contains(tt.text, "size()") && !strings.Contains(tt.text, "hasValue()") {
					t.Error("it is true")
				}
				if err != nil && len(err.Error()) > 2000 {
					t.Errorf("the error is %d bytes long", len(err.Error()))
				}
			})
		})
	}
}

// within holds that something takes no more time and memory than it should.
func within(t *testing.T, mebibytes uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > mebibytes {
		t.Errorf("it took %d MiB", got)
	}
}

// TestCompilationBombs compiles what takes little text, and without limits
// would take minutes.
func TestCompilationBombs(t *testing.T) {
	repeat := strings.Repeat
	for _, tt := range []struct{ name, text string }{
		{"maps nested", repeat("[1].map(a, ", 200) + "1" + repeat(")", 200) + " == [1]"},
		{"maps chained", "[1]" + repeat(".map(x, [x])", 200) + ".size() == 1"},
		{"maps transformed", repeat("{1: 1}.transformMap(a, b, ", 200) + "1" + repeat(")", 200) + ".size() == 1"},
		{"lists nested", repeat("[", 200) + "1" + repeat("]", 200) + ".size() == 1"},
		{"optionals nested", repeat("optional.of(", 200) + "1" + repeat(")", 200) + ".hasValue()"},
		{"optMap chained", "optional.of(1)" + repeat(".optMap(x, x)", 40) + ".hasValue()"},
		{"optFlatMap chained", "optional.of(1)" + repeat(".optFlatMap(x, optional.of(x))", 40) + ".hasValue()"},
		{"many lists", "true" + repeat(" && [] + [] == []", 1800)},
		{"many maps", "[" + repeat("{}, ", 8000) + "{}].size() == 1"},
		{"many comparisons", "true" + repeat("&&1==1", 5000)},
		{"a large regular expression", "'a'.matches('" + repeat("a{0,1000}", 3000) + "')"},
		{"a large regular expression for find", "'a'.find('" + repeat("a{0,1000}", 3000) + "') == ''"},
		{"a large regular expression as a function", "matches('a', '" + repeat("a{0,1000}", 3000) + "')"},
		{"many regular expressions", "true" + repeat("||''.matches('((a{9}){9}){9}')", 900)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			within(t, 500, func() {
				if _, problems := expression.CompileCondition(tt.text, nil); len(problems) == 0 {
					t.Error("it compiles")
				}
			})
		})
	}
}

// TestLimitsTogether holds that as much as is allowed, of what is dearest,
// compiles in the time that a review may take.
func TestLimitsTogether(t *testing.T) {
	one := "true" + strings.Repeat("&&[]+[]==[]", 82)
	var list []v1alpha1.CELCondition
	for text := 0; text+len(one) <= expression.MaxText; text += len(one) {
		list = append(list, v1alpha1.CELCondition{Expression: one})
	}
	within(t, 2000, func() {
		if _, problems := expression.CompileConditions(list, nil); len(problems) > 0 {
			t.Error(problems.ToAggregate())
		}
	})
}
