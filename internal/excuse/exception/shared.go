package exception

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// sharedConditions are conditions that several entries have.
type sharedConditions struct {
	conditions *expression.Conditions
	errs       field.ErrorList
}

// sharedMatch is a match block that several entries have.
type sharedMatch struct {
	open  bool
	match *match.Match
	errs  field.ErrorList
}

// conditionsOf compiles the conditions of an entry, once for all that share them.
func (made *part) conditionsOf(e *entry) (*expression.Conditions, field.ErrorList) {
	if len(e.conditions) == 0 {
		return expression.CompileConditions(e.conditions, e.at.Child("conditions"))
	}
	shared, known := made.conditions[&e.conditions[0]]
	if !known {
		shared.conditions, shared.errs = expression.CompileConditions(e.conditions, e.at.Child("conditions"))
		made.conditions[&e.conditions[0]] = shared
	}
	return shared.conditions, shared.errs
}
