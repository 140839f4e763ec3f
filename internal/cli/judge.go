package cli

import (
	"context"
	"strings"

	"github.com/sallyport-io/sallyport/internal/cli/output"
	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/load"
	"github.com/sallyport-io/sallyport/internal/pod"
	"github.com/sallyport-io/sallyport/internal/policy"
	"github.com/sallyport-io/sallyport/internal/request"
)

// collector takes decisions and problems together into one judgement.
type collector struct {
	results []decision.Result
	places  []output.Place
	// resources were judged, unruled of them by no rule, and unchanged of them are
	// updates that change nothing that a rule could be about.
	resources, unruled, unchanged int
	// problems says that some of the input could not be read.
	problems bool
}

// decide judges a request by the set. document is where its object stands; nil
// for a request that carries none.
func (c *collector) decide(ctx context.Context, set *policy.Set, r *request.Request, document *load.Document) {
	d := set.Decide(ctx, r)
	c.resources++
	switch {
	case len(d.Results) > 0:
	case changesNothing(r):
		c.unchanged++
	default:
		c.unruled++
	}
	for i := range d.Results {
		c.results = append(c.results, d.Results[i])
		c.places = append(c.places, placeOf(document, &d.Results[i]))
	}
}

// changesNothing reports whether a request updates pods, and nothing of them that
// is judged again.
func changesNothing(r *request.Request) bool {
	return r.Operation == request.Update && r.Object != nil && len(r.Object.Pods) > 0 && !pod.SignificantUpdate(r.OldObject, r.Object)
}

func placeOf(document *load.Document, r *decision.Result) output.Place {
	if document == nil {
		return output.Place{}
	}
	place := output.Place{File: document.File, Line: document.Line}
	for i := range r.Findings {
		place.Findings = append(place.Findings, document.LineOf(r.Findings[i].Path))
	}
	return place
}

// What the results about input that could not be read are called.
const (
	inputPolicy = "sallyport"
	inputRule   = "input"
	inputKind   = output.InputKind
)

// problem records that something could not be read, as a result of its own: a
// rule that could not be judged.
func (c *collector) problem(p *policy.Problem, resource decision.Resource) {
	c.problems = true
	r := decision.Result{
		Policy: inputPolicy, Rule: inputRule, Kind: inputKind, Resource: resource,
		Status: decision.Error, Action: decision.Enforce, Source: p.Origin,
	}
	r.Message = "cannot be judged: " + p.Detail
	if p.Path != "" {
		r.Message = "cannot be judged: " + p.Path + ": " + p.Detail
		r.Findings = []decision.Finding{{Path: p.Path, Detail: p.Detail}}
	}
	c.results = append(c.results, r)
	c.places = append(c.places, output.Place{File: fileOf(p.Origin)})
}

// fileOf is the file of an origin.
func fileOf(origin string) string {
	if i := strings.LastIndex(origin, ", document "); i >= 0 {
		return origin[:i]
	}
	return origin
}

// judgement is all that was collected. Where some of the input could not be read
// the verdict is an error, whatever the rest came to: not everything was judged.
func (c *collector) judgement(subject string) *output.Judgement {
	d := decision.Of(c.results)
	if c.problems {
		d.Verdict = decision.VerdictError
	}
	return &output.Judgement{Decision: d, Places: c.places, Resources: c.resources, Unruled: c.unruled, Unchanged: c.unchanged, Subject: subject}
}
