package expression_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/expression"
)

// TestNotCarried makes it an error to use an object that a review does not carry,
// however carefully: nothing is known of it.
func TestNotCarried(t *testing.T) {
	for _, text := range []string{
		"has(object.command)", "!has(object.command)", "object.?container.orValue('') == ''", "object == null", "oldObject == null",
		"[object].exists(o, true)", "has(oldObject.spec) || true == false",
	} {
		c, errs := expression.CompileCondition(text, field.NewPath("c"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if holds, _, err := c.Hold(t.Context(), &expression.Input{NotCarried: true}); err == nil || holds || !strings.Contains(err.Error(), "does not carry it") {
			t.Errorf("%s: %v, %v", text, holds, err)
		}
	}
	c, errs := expression.CompileCondition("request == null", field.NewPath("c"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if holds, _, err := c.Hold(t.Context(), &expression.Input{NotCarried: true}); err != nil || !holds {
		t.Errorf("what does not use it: %v, %v", holds, err)
	}
	c, errs = expression.CompileCondition("object == null && !has(oldObject.spec)", field.NewPath("c"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if holds, _, err := c.Hold(t.Context(), &expression.Input{}); err != nil || !holds {
		t.Errorf("what is carried as null: %v, %v", holds, err)
	}
}
