package policy

import (
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// excuse shows a failed result of a rule to the exceptions.
func (c *call) excuse(r *rule, result decision.Result) decision.Result {
	if !c.passes.Any() {
		return result
	}
	return c.excuseWhole(result, c.query(&result, r.name, []*match.Target{c.excusable()}))
}
