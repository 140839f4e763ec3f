package clusterpolicy

import (
	"slices"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// heldBefore reports whether an update leaves the object where it was with the
// rule: the rule was about the old object, in the same form, and every exception
// that excused it excuses the new one too. What an update brings into a rule, or
// takes out of an exception, was not violated before, and is judged as if it were
// created.
func (r *Rule) heldBefore(c *call.Call, f form, base *decision.Result) bool {
	old := c.OldTarget()
	form, applied, err := r.appliesTo(c, old, c.Request.OldObject)
	if err != nil || !applied || form != f {
		return false
	}
	if !c.Exceptions.Any() {
		return true
	}
	before := c.Query(base, r.Name, []*match.Target{old})
	before.Input = c.OldExpressionInput
	excused := c.ExceptionsAbout(before)
	if len(excused) == 0 {
		return true
	}
	now := c.ExceptionsAbout(c.Query(base, r.Name, []*match.Target{c.Target()}))
	return !slices.ContainsFunc(excused, func(p *exception.Exception) bool { return !slices.Contains(now, p) })
}
