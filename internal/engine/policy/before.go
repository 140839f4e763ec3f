package policy

import (
	"slices"

	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// heldBefore reports whether an update leaves the object where it was with the
// rule: the rule was about the old object, in the same form, and every exception
// that excused it excuses the new one too. What an update brings into a rule, or
// takes out of an exception, was not violated before, and is judged as if it were
// created.
func (r *rule) heldBefore(c *call, f form, base *decision.Result) bool {
	old := c.oldTarget()
	form, applied, err := r.appliesTo(c, old, c.request.OldObject)
	if err != nil || !applied || form != f {
		return false
	}
	if !c.passes.Any() {
		return true
	}
	before := c.query(base, r.name, []*match.Target{old})
	before.Input = c.oldExpressionInput
	excused := c.passesAbout(before)
	if len(excused) == 0 {
		return true
	}
	now := c.passesAbout(c.query(base, r.name, []*match.Target{c.target()}))
	return !slices.ContainsFunc(excused, func(p *pass.Pass) bool { return !slices.Contains(now, p) })
}
