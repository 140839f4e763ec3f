package call

import (
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// ExceptionsAbout lists the exceptions that are valid and about a query.
func (c *Call) ExceptionsAbout(q *exception.Query) []*exception.Exception {
	var found []*exception.Exception
	c.Exceptions.Find(c.Ctx, q, func(p *exception.Exception) bool {
		found = append(found, p)
		return true
	})
	return found
}

// OldTarget is the object before an update, as match blocks see it.
func (c *Call) OldTarget() *match.Target {
	old := *c.Target()
	meta := c.Request.OldObject.Meta
	old.Labels, old.Annotations = meta.Labels, meta.Annotations
	if old.Kind == c.Request.OldObject.GVK {
		old.Name, old.GenerateName = meta.Name, meta.GenerateName
	}
	if old.Kind.Kind == "Namespace" && old.Kind.Group == "" {
		old.NamespaceLabels = func() (map[string]string, error) { return meta.Labels, nil }
	}
	return &old
}

// OldExpressionInput is what the conditions of exceptions were evaluated with for
// the old object.
func (c *Call) OldExpressionInput(namespace bool) (*expression.Input, error) {
	in, err := c.ExpressionInput(namespace)
	if err != nil {
		return nil, err
	}
	in.Object, in.OldObject = in.OldObject, nil
	return in, nil
}
