package expression_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// TestInputIsNotChanged holds that no expression of the tables changes what it
// is about, and that many can look at one input at once.
func TestInputIsNotChanged(t *testing.T) {
	in, want := input(t), input(t)
	rearranging := compiled(t, withVariables(requirements(
		"variables.more.size() == object.spec.containers.size() + 1", "variables.sorted.size() == 2",
		"variables.sorted.reverse()[0] == variables.sorted[1]", "variables.merged.size() == 2",
	),
		"more", "object.spec.containers + [{'name': 'more'}]",
		"sorted", "object.spec.containers.sortBy(c, c.name)",
		"merged", "object.metadata.labels.transformMap(k, v, v + '!')",
	))
	var all []*expression.Validation
	for _, e := range evaluations {
		all = append(all, compiled(t, requirements(e.expression)))
	}
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for _, v := range all {
				_, _ = v.Evaluate(t.Context(), in)
			}
			if violations, err := rearranging.Evaluate(t.Context(), in); err != nil || len(violations) > 0 {
				t.Errorf("violations %v, error %v, want none", violations, err)
			}
		})
	}
	done.Wait()
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("the input was changed (-before +after):\n%s", diff)
	}
}
