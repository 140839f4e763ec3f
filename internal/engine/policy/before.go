package policy

import (
	"slices"

	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
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

// passesAbout lists the exceptions that are valid and about a query.
func (c *call) passesAbout(q *pass.Query) []*pass.Pass {
	var found []*pass.Pass
	c.passes.Find(c.ctx, q, func(p *pass.Pass) bool {
		found = append(found, p)
		return true
	})
	return found
}

// oldTarget is the object before an update, as match blocks see it.
func (c *call) oldTarget() *match.Target {
	old := *c.target()
	meta := c.request.OldObject.Meta
	old.Labels, old.Annotations = meta.Labels, meta.Annotations
	if old.Kind == c.request.OldObject.GVK {
		old.Name, old.GenerateName = meta.Name, meta.GenerateName
	}
	if old.Kind.Kind == "Namespace" && old.Kind.Group == "" {
		old.NamespaceLabels = func() (map[string]string, error) { return meta.Labels, nil }
	}
	return &old
}

// oldExpressionInput is what the conditions of exceptions were evaluated with for
// the old object.
func (c *call) oldExpressionInput(namespace bool) (*expression.Input, error) {
	in, err := c.expressionInput(namespace)
	if err != nil {
		return nil, err
	}
	in.Object, in.OldObject = in.OldObject, nil
	return in, nil
}
