package clusterpolicy

import (
	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// Excuse shows a failed result of a rule to the exceptions.
func Excuse(c *call.Call, r *Rule, result decision.Result) decision.Result {
	if !c.Exceptions.Any() {
		return result
	}
	return c.ExcuseWhole(result, c.Query(&result, r.Name, []*match.Target{c.Excusable()}))
}
