package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// loopsOver are expressions that go over a list, all of which hold.
var loopsOver = map[string]string{
	"all":            "object.list.all(x, x.name != 'other')",
	"exists":         "!object.list.exists(x, x.name == 'other' || x.name == 'another')",
	"exists one":     "!object.list.exists_one(x, x.name == 'other')",
	"filter":         "object.list.filter(x, x.name == 'other').size() == 0",
	"filter keeps":   "object.list.filter(x, x.name != 'other' && !(x.name == 'another')).size() == object.list.size()",
	"filter negated": "object.list.filter(x, !(x.name in ['other'])).size() == object.list.size()",
	"map":            "object.list.map(x, x.name).size() == object.list.size()",
	"map some":       "object.list.map(x, x.name != 'other', x.name + '!').size() == object.list.size()",
	"nested":         "object.list.all(x, x.tags.exists(t, t == 'a') && x.tags.filter(t, t != 'a').size() == 1 && x.tags.map(t, t + x.name).size() == 2)",
	"two variables":  "object.list.all(i, x, i >= 0 && x.name != 'other')",
}

func listOf(n int) map[string]any {
	var list []any
	for i := range n {
		list = append(list, map[string]any{"name": fmt.Sprintf("n%d", i), "tags": []any{"a", "b"}})
	}
	return map[string]any{"list": list}
}

// TestLoops makes sure that macros over long lists give what they should.
func TestLoops(t *testing.T) {
	t.Parallel()
	for name, text := range loopsOver {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := compiled(t, requirements(text, "!("+text+")"))
			for _, n := range []int{0, 1, 2, 500} {
				violations, err := v.Evaluate(t.Context(), &expression.Input{Object: listOf(n)})
				if err != nil || len(violations) != 1 || violations[0].Index != 1 {
					t.Errorf("%d items: %v, %v", n, violations, err)
				}
			}
		})
	}
}

// TestCostOfLoops makes sure that what a macro compares still counts.
func TestCostOfLoops(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100_000)
	object := map[string]any{"list": []any{}, "text": long + "b"}
	for range 200 {
		object["list"] = append(object["list"].([]any), long+"c") //nolint:forcetypeassert // made above
	}
	for _, text := range []string{"object.list.filter(x, x == object.text).size() == 0", "object.list.filter(x, x != object.text).size() == 200", "object.list.all(x, x != object.text)"} {
		_, err := compiled(t, requirements(text)).Evaluate(t.Context(), &expression.Input{Object: object})
		hasAll(t, err, "costs more than one expression may")
	}
}

// BenchmarkLoops goes over lists of which one is ten times as long as the other.
func BenchmarkLoops(b *testing.B) {
	for _, name := range []string{"all", "filter", "map"} {
		for _, n := range []int{300, 3000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				v, in := compiled(b, requirements(loopsOver[name])), &expression.Input{Object: listOf(n)}
				for b.Loop() {
					if violations, err := v.Evaluate(b.Context(), in); err != nil || len(violations) > 0 {
						b.Fatal(violations, err)
					}
				}
			})
		}
	}
}
