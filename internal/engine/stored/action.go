package stored

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// Action is what an enforcementAction comes to; deny where none is given. at is the field,
// for the error about a value that is none of them.
func Action(given v1alpha1.EnforcementAction, at *field.Path) (decision.Action, *field.Error) {
	switch given {
	case "", v1alpha1.EnforceDeny:
		return decision.Enforce, nil
	case v1alpha1.EnforceWarn:
		return decision.ActionWarn, nil
	case v1alpha1.EnforceAudit:
		return decision.ActionAudit, nil
	}
	return decision.Enforce, field.NotSupported(at, given, v1alpha1.EnforcementActions)
}

// ActionOf is the enforcementAction in the spec of an object that cannot work; deny where
// it cannot be read.
func ActionOf(spec map[string]any) decision.Action {
	action, err := Action(v1alpha1.EnforcementAction(TextIn(spec, "enforcementAction")), nil)
	if err != nil {
		return decision.Enforce
	}
	return action
}

// LetsIn words that an action lets a request in all the same.
func LetsIn(action decision.Action) string {
	return "; enforcementAction " + string(action) + " lets the request through"
}

// ReasonObserving is the reason of the condition Enforced, and Observing its message, where
// the installation refuses nothing.
const (
	ReasonObserving = "Observing"
	Observing       = "this installation only observes (--mode observe): what the policy would refuse is recorded and let in"
)

// Settle gives results of a policy what follows from its action: what fails would have been
// refused, and is a warning where it is to be one.
func Settle(results []decision.Result) {
	for i := range results {
		r := &results[i]
		if r.Action == decision.Enforce || r.Status != decision.Fail {
			continue
		}
		r.WouldDeny = true
		if r.Action == decision.ActionWarn {
			r.Status = decision.Warn
		}
	}
}
