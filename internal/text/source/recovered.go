package source

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Recovered, deferred by what compiles one object, makes a panic a fault of that
// object, so that it is refused and the others are not lost with it.
func Recovered(errs *field.ErrorList) {
	if fault := recover(); fault != nil {
		*errs = append(*errs, field.InternalError(field.NewPath("spec"), fmt.Errorf("this cannot be compiled, which is a fault of Sallyport; please report it: %v", fault)))
	}
}
