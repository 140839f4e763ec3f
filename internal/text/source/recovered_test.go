package source

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestRecovered keeps what was wrong before, and adds a panic only where there is one.
func TestRecovered(t *testing.T) {
	for name, c := range map[string]struct {
		panics any
		want   string
	}{
		"nothing":  {nil, ""},
		"a text":   {"boom", "spec: Internal error: this cannot be compiled, which is a fault of Sallyport; please report it: boom"},
		"an error": {errors.New("nil map"), "nil map"},
	} {
		compile := func() (errs field.ErrorList) {
			defer Recovered(&errs)
			errs = append(errs, field.Required(field.NewPath("spec", "rules"), "first"))
			if c.panics != nil {
				panic(c.panics)
			}
			return errs
		}
		errs := compile()
		if errs[0].Field != "spec.rules" || (c.want == "") != (len(errs) == 1) || !strings.Contains(errs.ToAggregate().Error(), c.want) {
			t.Errorf("%s: %v", name, errs)
		}
	}
}
