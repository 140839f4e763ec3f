package clusterpolicy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// ForBroken answer for a ClusterPolicy or a Policy that cannot work.
func ForBroken(b *stored.Broken, pods *pod.Registry) []*Rule {
	spec, ok := b.Spec()
	if !ok {
		b.Answers("everything that is created, changed or connected to%s, as its spec cannot be read", Within(b))
		return []*Rule{wideRule(b)}
	}
	base := wideRule(b)
	base.IgnoreErrors = stored.TextIn(spec, "failurePolicy") == string(v1alpha1.FailurePolicyIgnore)
	if background, ok := spec["background"].(bool); ok {
		base.Background = background
	}
	base.Action, base.overrides = strictestAction(spec["validationFailureAction"], spec["validationFailureActionOverrides"], decision.Enforce, nil)
	list, _ := spec["rules"].([]any)
	if len(list) == 0 {
		b.Answers("everything that is created, changed or connected to%s, as its rules cannot be read", Within(b))
		b.Open = base.Opens()
		return []*Rule{base}
	}
	wish, makers, errs := readAutogen(annotations(b))
	if len(errs)+len(NoMakers(makers, pods)) > 0 {
		wish = autogenWish{given: true, all: true}
	}
	rules := make([]*Rule, len(list))
	b.Open = true
	for i, part := range list {
		r := widestRule(b, part, i, base, &wish)
		rules[i], b.Open = r, b.Open && r.Opens()
	}
	return rules
}

// wideRule is about everything, and named after what it stands for.
func wideRule(b *stored.Broken) *Rule {
	return &Rule{
		Policy: b.Name, Namespace: b.Namespace, Kind: b.Kind, Name: stored.RuleWorks, Autogen: stored.RuleWorks, Cronjob: stored.RuleWorks,
		Match: everything(), wide: true, Action: decision.Enforce, Background: true, Broken: b,
	}
}

// Opens reports whether what the rule is about is let in.
func (r *Rule) Opens() bool {
	return r.IgnoreErrors || r.Action != decision.Enforce && len(r.overrides) == 0
}

// widestRule answers for one rule of a policy.
func widestRule(b *stored.Broken, part any, i int, base *Rule, wish *autogenWish) *Rule {
	r := *base
	fields, _ := part.(map[string]any)
	name := stored.TextIn(fields, "name")
	if name == "" {
		name = fmt.Sprintf("rules[%d]", i)
	}
	r.Name, r.Autogen, r.Cronjob = name, "autogen-"+name, "autogen-cronjob-"+name
	if validate, ok := fields["validate"].(map[string]any); ok {
		r.Action, r.overrides = strictestAction(validate["failureAction"], validate["failureActionOverrides"], r.Action, r.overrides)
	}
	var all bool
	r.Match, all = widestMatch(fields["match"])
	_, named := r.Match.ExactKinds()
	r.wide = !named
	if exclude, given := fields["exclude"]; given {
		r.exclude = narrowestMatch(exclude)
	}
	if all {
		b.Answers("everything%s, as it cannot be read what rule %s is about", Within(b), name)
		return &r
	}
	r.Generated, _, _ = wish.generate(r.Match, r.exclude)
	b.Answers("what rule %s is about%s", name, Within(b))
	return &r
}

// Within names the namespace that the object reaches, if it has one.
func Within(b *stored.Broken) string {
	if b.Namespace == "" {
		return ""
	}
	return " in namespace " + b.Namespace
}

func annotations(b *stored.Broken) map[string]string {
	meta, _ := b.Object["metadata"].(map[string]any)
	annotations, _ := stored.Strictly[map[string]string](meta["annotations"])
	return annotations
}

// strictestAction reads an action and its overrides. What cannot be read is taken
// for Enforce; what is not given is as it was before.
func strictestAction(action, overrides any, before decision.Action, overridesBefore []actionOverride) (decision.Action, []actionOverride) {
	path := field.NewPath("action")
	if action != nil {
		text, _ := action.(string)
		read, err := compileAction(v1alpha1.ValidationFailureAction(text), path)
		if err != nil || text == "" {
			return decision.Enforce, nil
		}
		before, overridesBefore = read, nil
	}
	if overrides == nil {
		return before, overridesBefore
	}
	list, ok := stored.Strictly[[]v1alpha1.FailureActionOverride](overrides)
	if !ok {
		return decision.Enforce, nil
	}
	compiled, errs := compileOverrides(list, path)
	if len(errs) > 0 {
		return decision.Enforce, nil
	}
	return before, compiled
}

// answerBroken appends what follows for a request that the rule is about.
func (r *Rule) answerBroken(base decision.Result, results []decision.Result) []decision.Result {
	open := ""
	if r.IgnoreErrors {
		open = "failurePolicy Ignore"
	}
	return append(results, r.Broken.Answer(base, open))
}
