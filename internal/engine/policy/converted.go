package policy

import (
	"fmt"
	"strings"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// appliesAsAsked reports whether the rule's match is also about what was asked for before
// it was converted: then it is judged as that, or excluded.
func (r *rule) appliesAsAsked(c *call) bool {
	asked := c.request.Asked
	if asked == nil {
		return true
	}
	// A resource is of one kind in each version.
	t := *c.target()
	t.Kind = asked.Resource.GroupVersion().WithKind(t.Kind.Kind)
	matched := *r
	matched.exclude = nil
	_, ok, err := matched.appliesTo(c, &t, c.request.Object)
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
		result.Message = fmt.Sprintf("not applied: the rule is about %s, and this is written in %s. An API server that serves both converts it and applies the rule; here no one does", version.GroupVersion(), written.GroupVersion())
		return result, true
	}
	return decision.Result{}, false
}
