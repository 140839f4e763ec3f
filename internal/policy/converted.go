package policy

import (
	"fmt"

	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/match"
)

// appliesAsAsked reports whether the rule is also about what was asked for before it was
// converted: then it is judged as that.
func (r *rule) appliesAsAsked(c *call) bool {
	asked := c.request.Asked
	if asked == nil {
		return true
	}
	t := *c.target()
	t.Kind = match.KindOf(asked.Resource, asked.Subresource, asked.Kind)
	_, ok, err := r.appliesTo(c, &t, c.request.Object)
	return ok || err != nil
}

// unconverted says that the rule is about another version of the object, where nobody
// converts it; false where it is about none.
func (r *rule) unconverted(c *call) (result decision.Result, is bool) {
	if !c.request.Unconverted {
		return decision.Result{}, false
	}
	t := *c.target()
	written := t.Kind
	for _, version := range r.match.Versions(written, t.Subresource) {
		t.Kind = version
		if _, ok, err := r.appliesTo(c, &t, c.request.Object); !ok || err != nil {
			continue
		}
		result = r.base(c, direct)
		result.Status = decision.Skip
		result.Message = fmt.Sprintf("not applied: the rule is about %s, and this is written in %s. An API server that serves both converts it and applies the rule; here nobody does", version.GroupVersion(), written.GroupVersion())
		return result, true
	}
	return decision.Result{}, false
}
