package judge

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/files/output"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Collector takes decisions and problems together into one judgement.
type Collector struct {
	Results []decision.Result
	Places  []output.Place
	// Resources were judged, unruled of them by no rule, and unchanged of them are
	// updates that change nothing that a rule could be about.
	Resources, Unruled, unchanged int
	// Later is when what is excused now is looked at again; zero for not at all.
	Later time.Time
	// Suggest asks for the request of an exception to each rule that refuses.
	Suggest bool
	// Problems says that some of the input could not be read.
	Problems bool
}

// Decide judges a request by the set. document is where its object stands; nil
// for a request that carries none.
func (c *Collector) Decide(ctx context.Context, set *policy.Set, r *request.Request, document *load.Document) {
	d := set.Decide(ctx, r)
	if !c.Later.IsZero() {
		c.lookAhead(ctx, set, r, &d)
	}
	if c.Suggest {
		suggest(r, &d)
	}
	c.Resources++
	switch {
	case len(d.Results) > 0:
	case changesNothing(r):
		c.unchanged++
	default:
		c.Unruled++
	}
	for i := range d.Results {
		c.Results = append(c.Results, d.Results[i])
		c.Places = append(c.Places, placeOf(document, &d.Results[i]))
	}
}

// lookAhead turns results that are excused now, and will not be any more, into
// warnings.
func (c *Collector) lookAhead(ctx context.Context, set *policy.Set, r *request.Request, d *decision.Decision) {
	ahead := *r
	ahead.Time = c.Later
	then := set.Decide(ctx, &ahead)
	for i := range d.Results {
		now := &d.Results[i]
		if now.Status != decision.Skip || len(now.Exceptions) == 0 || slices.ContainsFunc(then.Results, func(r decision.Result) bool {
			return r.Status == decision.Skip && r.Kind == now.Kind && r.PolicyNamespace == now.PolicyNamespace && r.Policy == now.Policy && r.Rule == now.Rule
		}) {
			continue
		}
		now.Status, now.Action = decision.Warn, decision.ActionWarn
		now.Message = "excused no longer by " + c.Later.UTC().Format(time.RFC3339) + ": " + now.Message
	}
	*d = decision.Of(d.Results)
}

// suggest adds the request of an exception to each result that one could excuse.
func suggest(r *request.Request, d *decision.Decision) {
	for i := range d.Results {
		asked := policy.Suggest(r, &d.Results[i])
		if asked == nil {
			continue
		}
		if text, err := output.YAML(asked); err == nil {
			d.Results[i].SuggestedException = text
		}
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

// Problem records that something could not be read, as a result of its own: a
// rule that could not be judged.
func (c *Collector) Problem(p *stored.Problem, resource decision.Resource) {
	c.Problems = true
	r := decision.Result{
		Policy: inputPolicy, Rule: inputRule, Kind: inputKind, Resource: resource,
		Status: decision.Error, Action: decision.Enforce, Source: p.Origin,
	}
	r.Message = "cannot be judged: " + p.Detail
	if p.Path != "" {
		r.Message = "cannot be judged: " + p.Path + ": " + p.Detail
		r.Findings = []decision.Finding{{Path: p.Path, Detail: p.Detail}}
	}
	c.Results = append(c.Results, r)
	c.Places = append(c.Places, output.Place{File: fileOf(p.Origin)})
}

// fileOf is the file of an origin.
func fileOf(origin string) string {
	if i := strings.LastIndex(origin, ", document "); i >= 0 {
		return origin[:i]
	}
	return origin
}

// Judgement is all that was collected. Where some of the input could not be read
// the verdict is an error, whatever the rest came to: not everything was judged.
func (c *Collector) Judgement(subject string) *output.Judgement {
	d := decision.Of(c.Results)
	if c.Problems {
		d.Verdict = decision.VerdictError
	}
	return &output.Judgement{Decision: d, Places: c.Places, Resources: c.Resources, Unruled: c.Unruled, Unchanged: c.unchanged, Subject: subject}
}
