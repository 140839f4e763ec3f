package clusterpolicy

import (
	"errors"
	"fmt"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// Rule is a compiled rule of a ClusterPolicy or a Policy.
type Rule struct {
	Policy, Namespace, Kind string
	// Names under which the rule stands in results: for what it matches, and as
	// it is generated for what makes pods.
	Name, Autogen, Cronjob string
	Match, exclude         *match.Match
	Generated              generated
	Message                string
	Action                 decision.Action
	overrides              []actionOverride
	// IgnoreErrors is failurePolicy Ignore.
	IgnoreErrors bool
	// Background is set where it is applied to what is already in the cluster too.
	Background bool
	Body       body
	// Broken is set where the policy cannot work: what the rule is about is not
	// judged. wide is set where that names no kinds.
	Broken *stored.Broken
	wide   bool
}

// body is what a rule requires.
type body interface {
	// judge appends a result, or several, that begin as base does: with status
	// pass. form says whether the object itself is judged or the pods that it
	// makes.
	judge(c *call.Call, r *Rule, form form, base decision.Result, results []decision.Result) []decision.Result
}

// form is in which of its forms a rule applies.
type form uint8

const (
	// Direct: to what it matches.
	Direct form = iota
	// forTemplate and forCronJob: to the pods that an object makes.
	forTemplate
	forCronJob
)

// generated says for which kinds that make pods a rule about Pods holds.
type generated struct {
	// On is set where it holds for some.
	On bool
	// kinds that were listed, by autogen-controllers; nil: all.
	kinds glob.List
	some  bool
}

// Covers reports whether the rule holds for what makes pods and is of this kind.
func (g *generated) Covers(kind string) bool { return g.On && (!g.some || g.kinds.Match(kind)) }

// nameFor is the name of the rule in a form.
func (r *Rule) nameFor(f form) string {
	switch f {
	case forTemplate:
		return r.Autogen
	case forCronJob:
		return r.Cronjob
	default:
		return r.Name
	}
}

// Applies reports in which form the rule applies to the request, if it does. An
// error says that this could not be found out.
func (r *Rule) Applies(c *call.Call) (f form, ok bool, err error) {
	return r.appliesTo(c, c.Target(), c.Request.Object)
}

// appliesTo is applies for an object of the request and its target.
func (r *Rule) appliesTo(c *call.Call, t *match.Target, object *pod.Object) (f form, ok bool, err error) {
	if r.Kind == stored.KindPolicy && c.Request.Namespace != r.Namespace {
		return Direct, false, nil
	}
	makes := object != nil && len(object.Pods) > 0 && t.Subresource == "" && !call.IsPod(t.Kind.GroupKind()) && r.Generated.Covers(t.Kind.Kind)
	// A rule that names Pod without a group is about a kind of another group that has
	// this name as well. The pods of that are where its PodKind says.
	if makes && t.Kind.Kind == call.PodGVK.Kind {
		if f, ok, err = r.appliesToPodsOf(t); ok || err != nil {
			return f, ok, err
		}
	}
	ok, err = r.about(t)
	if ok || err != nil || !makes {
		return Direct, ok, err
	}
	return r.appliesToPodsOf(t)
}

// appliesToPodsOf is appliesTo for a kind that makes pods, when asked about these.
func (r *Rule) appliesToPodsOf(t *match.Target) (f form, ok bool, err error) {
	f = forTemplate
	if t.Kind.Kind == "CronJob" && t.Kind.Group == "batch" {
		f = forCronJob
	}
	asPod := *t
	asPod.Kind = call.PodGVK
	if ok, err = r.about(&asPod); !ok {
		return f, false, err
	}
	// What is excluded by its own kind is excluded in every form.
	excluded, err := r.exclude.Match(t)
	return f, !excluded && err == nil, err
}

// about reports whether the rule matches the target and does not exclude it.
func (r *Rule) about(t *match.Target) (bool, error) {
	ok, err := r.Match.Match(t)
	if err != nil || !ok {
		return false, err
	}
	excluded, err := r.exclude.Match(t)
	return !excluded && err == nil, err
}

// Base is the result of a rule before it is judged.
func (r *Rule) Base(c *call.Call, f form) decision.Result {
	return decision.Result{
		Policy: r.Policy, PolicyNamespace: r.Namespace, Rule: r.nameFor(f), Kind: r.Kind,
		Resource: c.Resource(), Status: decision.Pass, Action: r.Action, Source: c.Request.Source,
	}
}

// Decide appends what the rule says of the request, with what excuses it.
func (r *Rule) Decide(c *call.Call, results []decision.Result) []decision.Result {
	if r.Broken != nil && (stored.Spared(c.Request) || SparesAsPodKind(r.Broken, c.Request) || r.wide && stored.Beside(c.Request)) {
		return results
	}
	f, ok, err := r.Applies(c)
	switch {
	case errors.Is(err, match.ErrNoUser):
		base := r.Base(c, Direct)
		base.Status, base.Message = decision.Skip, "not applied: it goes by who asks, and nobody is known to"
		return append(results, base)
	case err != nil:
		return append(results, r.Unjudged(r.Base(c, Direct), fmt.Errorf("whether the rule is about this: %w", err)))
	case !ok:
		if other, is := r.unconverted(c); is {
			results = append(results, other)
		}
		return results
	case c.Request.Converted && r.appliesAsAsked(c):
		return results
	}
	base := r.Base(c, f)
	if action, err := r.actionFor(c); err != nil {
		return append(results, r.Unjudged(base, err))
	} else if action != "" {
		base.Action = action
	}
	if r.Broken != nil {
		return r.answerBroken(base, results)
	}
	from := len(results)
	results = r.Body.judge(c, r, f, base, results)
	sayConverted(c.Request, results[from:])
	secret := c.AboutSecret()
	// By levels of namespaces, it is each level that refuses or does not.
	standard, is := r.Body.(*StandardRule)
	levels := is && standard.Fixed == nil
	for i := from; i < len(results); i++ {
		if secret {
			call.WithoutValues(results[i].Findings)
		}
		if base.Action != decision.Enforce && results[i].Status == decision.Fail && !levels {
			results[i].WouldDeny = true
		}
		if results[i].Action == decision.ActionWarn && results[i].Status == decision.Fail {
			results[i].Status = decision.Warn
		}
	}
	return results
}

// Unjudged is where the failure policy of a rule is carried out, and the only
// place.
func (r *Rule) Unjudged(base decision.Result, err error) decision.Result {
	base.Status = decision.Error
	base.Message = "cannot be judged: " + err.Error()
	base.WouldDeny = base.Action != decision.Enforce && !r.IgnoreErrors
	if r.IgnoreErrors {
		base.Action = decision.ActionAudit
		base.Message += "; failurePolicy Ignore lets the request through"
	}
	return base
}
