package policy

import (
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// RuleNames is the rule about names that some readers take for those of fields.
const RuleNames = "names"

// explain adds to what is refused why it was read as it was.
func explain(results []decision.Result, doubt string) {
	if doubt == "" {
		return
	}
	for i := range results {
		if r := &results[i]; r.Status == decision.Fail || r.Status == decision.Error {
			r.Message += "; " + doubt
		}
	}
}

// decideFault refuses an object in which others may find other pods than were
// judged. What was there before and does not change can still be finished and
// deleted.
func (s *Set) decideFault(c *call.Call, results []decision.Result) []decision.Result {
	r := c.Request
	if r.Object == nil || r.Object.Fault == nil || r.Background || r.Operation != request.Create && r.Operation != request.Update {
		return results
	}
	if r.Operation == request.Update && r.OldObject != nil && r.OldObject.Fault != nil {
		if same, err := call.SameBody(r.OldObject, r.Object); err == nil && same {
			return results
		}
	}
	return append(results, decision.Result{
		Policy: "sallyport", Rule: RuleNames, Kind: decision.KindOwn, Resource: c.Resource(), Source: r.Source,
		Status: decision.Fail, Action: decision.Enforce,
		Message: "which pods come of it is not known: " + r.Object.Fault.Error(),
	})
}
