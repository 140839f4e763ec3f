package policy

import (
	"errors"
	"fmt"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// rule is a compiled rule of a ClusterPolicy or a Policy.
type rule struct {
	policy, namespace, kind string
	// Names under which the rule stands in results: for what it matches, and as
	// it is generated for what makes pods.
	name, autogen, cronjob string
	match, exclude         *match.Match
	generated              generated
	message                string
	action                 decision.Action
	overrides              []actionOverride
	// ignoreErrors is failurePolicy Ignore.
	ignoreErrors bool
	// background is set where it is applied to what is already in the cluster too.
	background bool
	body       body
	// broken is set where the policy cannot work: what the rule is about is not
	// judged. wide is set where that names no kinds.
	broken *Broken
	wide   bool
}

// body is what a rule requires.
type body interface {
	// judge appends a result, or several, that begin as base does: with status
	// pass. form says whether the object itself is judged or the pods that it
	// makes.
	judge(c *call, r *rule, form form, base decision.Result, results []decision.Result) []decision.Result
}

// form is in which of its forms a rule applies.
type form uint8

const (
	// direct: to what it matches.
	direct form = iota
	// forTemplate and forCronJob: to the pods that an object makes.
	forTemplate
	forCronJob
)

// generated says for which kinds that make pods a rule about Pods holds.
type generated struct {
	// on is set where it holds for some.
	on bool
	// kinds that were listed, by autogen-controllers; nil: all.
	kinds glob.List
	some  bool
}

func (g *generated) covers(kind string) bool { return g.on && (!g.some || g.kinds.Match(kind)) }

// nameFor is the name of the rule in a form.
func (r *rule) nameFor(f form) string {
	switch f {
	case forTemplate:
		return r.autogen
	case forCronJob:
		return r.cronjob
	default:
		return r.name
	}
}

// applies reports in which form the rule applies to the request, if it does. An
// error says that this could not be found out.
func (r *rule) applies(c *call) (f form, ok bool, err error) {
	return r.appliesTo(c, c.target(), c.request.Object)
}

// appliesTo is applies for an object of the request and its target.
func (r *rule) appliesTo(c *call, t *match.Target, object *pod.Object) (f form, ok bool, err error) {
	if r.kind == KindPolicy && c.request.Namespace != r.namespace {
		return direct, false, nil
	}
	makes := object != nil && len(object.Pods) > 0 && t.Subresource == "" && !isPod(t.Kind.GroupKind()) && r.generated.covers(t.Kind.Kind)
	// A rule that names Pod without a group is about a kind of another group that has
	// this name as well. The pods of that are where its PodKind says.
	if makes && t.Kind.Kind == podGVK.Kind {
		if f, ok, err = r.appliesToPodsOf(t); ok || err != nil {
			return f, ok, err
		}
	}
	ok, err = r.about(t)
	if ok || err != nil || !makes {
		return direct, ok, err
	}
	return r.appliesToPodsOf(t)
}

// appliesToPodsOf is appliesTo for a kind that makes pods, when asked about these.
func (r *rule) appliesToPodsOf(t *match.Target) (f form, ok bool, err error) {
	f = forTemplate
	if t.Kind.Kind == "CronJob" && t.Kind.Group == "batch" {
		f = forCronJob
	}
	asPod := *t
	asPod.Kind = podGVK
	if ok, err = r.about(&asPod); !ok {
		return f, false, err
	}
	// What is excluded by its own kind is excluded in every form.
	excluded, err := r.exclude.Match(t)
	return f, !excluded && err == nil, err
}

// about reports whether the rule matches the target and does not exclude it.
func (r *rule) about(t *match.Target) (bool, error) {
	ok, err := r.match.Match(t)
	if err != nil || !ok {
		return false, err
	}
	excluded, err := r.exclude.Match(t)
	return !excluded && err == nil, err
}

// base is the result of a rule before it is judged.
func (r *rule) base(c *call, f form) decision.Result {
	return decision.Result{
		Policy: r.policy, PolicyNamespace: r.namespace, Rule: r.nameFor(f), Kind: r.kind,
		Resource: c.resource(), Status: decision.Pass, Action: r.action, Source: c.request.Source,
	}
}

// decide appends what the rule says of the request, with what excuses it.
func (r *rule) decide(c *call, results []decision.Result) []decision.Result {
	if r.broken != nil && (spared(c.request) || r.broken.sparesAsPodKind(c.request) || r.wide && beside(c.request)) {
		return results
	}
	f, ok, err := r.applies(c)
	switch {
	case errors.Is(err, match.ErrNoUser):
		base := r.base(c, direct)
		base.Status, base.Message = decision.Skip, "not applied: it goes by who asks, and nobody is known to"
		return append(results, base)
	case err != nil:
		return append(results, r.unjudged(r.base(c, direct), fmt.Errorf("whether the rule is about this: %w", err)))
	case !ok:
		if other, is := r.unconverted(c); is {
			results = append(results, other)
		}
		return results
	case c.request.Converted && r.appliesAsAsked(c):
		return results
	}
	base := r.base(c, f)
	if action, err := r.actionFor(c); err != nil {
		return append(results, r.unjudged(base, err))
	} else if action != "" {
		base.Action = action
	}
	if r.broken != nil {
		return r.answerBroken(base, results)
	}
	from := len(results)
	results = r.body.judge(c, r, f, base, results)
	sayConverted(c.request, results[from:])
	secret := c.aboutSecret()
	for i := from; i < len(results); i++ {
		if secret {
			withoutValues(results[i].Findings)
		}
		if results[i].Action == decision.ActionWarn && results[i].Status == decision.Fail {
			results[i].Status = decision.Warn
		}
	}
	return results
}

// unjudged is where the failure policy of a rule is carried out, and the only
// place.
func (r *rule) unjudged(base decision.Result, err error) decision.Result {
	base.Status = decision.Error
	base.Message = "cannot be judged: " + err.Error()
	if r.ignoreErrors {
		base.Action = decision.ActionAudit
		base.Message += "; failurePolicy Ignore lets the request through"
	}
	return base
}
