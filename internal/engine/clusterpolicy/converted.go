package clusterpolicy

import (
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// appliesAsAsked reports whether the rule's match is also about what was asked for before
// it was converted: then it is judged as that, or excluded.
func (r *Rule) appliesAsAsked(c *call.Call) bool {
	asked := c.Request.Asked
	if asked == nil {
		return true
	}
	// A resource is of one kind in each version.
	t := *c.Target()
	t.Kind = asked.Resource.GroupVersion().WithKind(t.Kind.Kind)
	matched := *r
	matched.exclude = nil
	_, ok, err := matched.appliesTo(c, &t, c.Request.Object)
	return ok || err != nil
}

// sayConverted says of what was found in what was converted that it was: the fields are
// not those that somebody has written.
func sayConverted(r *request.Request, results []decision.Result) {
	if !r.Converted || r.Asked == nil {
		return
	}
	for i := range results {
		if results[i].Status == decision.Pass || results[i].Status == decision.Skip {
			continue
		}
		results[i].Message = strings.TrimSuffix(results[i].Message, ".")
		if results[i].Message != "" {
			results[i].Message += "; "
		}
		results[i].Message += fmt.Sprintf("judged as %s, which the API server made of the %s that was sent", r.Kind.GroupVersion(), r.Asked.Kind.GroupVersion())
	}
}

// unconverted says that the rule is about another version of the object, where no one
// converts it; false where it is about none.
func (r *Rule) unconverted(c *call.Call) (result decision.Result, is bool) {
	if !c.Request.Unconverted {
		return decision.Result{}, false
	}
	t := *c.Target()
	written := t.Kind
	for _, version := range r.Match.Versions(written, t.Subresource) {
		t.Kind = version
		if _, ok, err := r.appliesTo(c, &t, c.Request.Object); !ok || err != nil {
			continue
		}
		result = r.Base(c, Direct)
		result.Status = decision.Skip
		result.Message = fmt.Sprintf("not applied: the rule is about %s, and this is written in %s. An API server that serves both converts it and applies the rule; here no one does", version.GroupVersion(), written.GroupVersion())
		return result, true
	}
	return decision.Result{}, false
}
