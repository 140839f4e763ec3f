package policy

import (
	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

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
