package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// rules answer for a ClusterPolicy or a Policy that cannot work.
func (b *Broken) rules(pods *pod.Registry) []*rule {
	spec, ok := b.spec()
	if !ok {
		b.answers("everything that is created, changed or connected to%s, as its spec cannot be read", b.within())
		return []*rule{b.wideRule()}
	}
	base := b.wideRule()
	base.ignoreErrors = textIn(spec, "failurePolicy") == string(v1alpha1.FailurePolicyIgnore)
	if background, ok := spec["background"].(bool); ok {
		base.background = background
	}
	base.action, base.overrides = strictestAction(spec["validationFailureAction"], spec["validationFailureActionOverrides"], decision.Enforce, nil)
	list, _ := spec["rules"].([]any)
	if len(list) == 0 {
		b.answers("everything that is created, changed or connected to%s, as its rules cannot be read", b.within())
		b.open = base.opens()
		return []*rule{base}
	}
	wish, makers, errs := readAutogen(b.annotations())
	if len(errs)+len(noMakers(makers, pods)) > 0 {
		wish = autogenWish{given: true, all: true}
	}
	rules := make([]*rule, len(list))
	b.open = true
	for i, part := range list {
		r := b.widestRule(part, i, base, &wish)
		rules[i], b.open = r, b.open && r.opens()
	}
	return rules
}

// wideRule is about everything, and named after what it stands for.
func (b *Broken) wideRule() *rule {
	return &rule{
		policy: b.Name, namespace: b.Namespace, kind: b.Kind, name: RuleWorks, autogen: RuleWorks, cronjob: RuleWorks,
		match: everything(), wide: true, action: decision.Enforce, background: true, broken: b,
	}
}

// opens reports whether what the rule is about is let in.
func (r *rule) opens() bool {
	return r.ignoreErrors || r.action != decision.Enforce && len(r.overrides) == 0
}

// widestRule answers for one rule of a policy.
func (b *Broken) widestRule(part any, i int, base *rule, wish *autogenWish) *rule {
	r := *base
	fields, _ := part.(map[string]any)
	name := textIn(fields, "name")
	if name == "" {
		name = fmt.Sprintf("rules[%d]", i)
	}
	r.name, r.autogen, r.cronjob = name, "autogen-"+name, "autogen-cronjob-"+name
	if validate, ok := fields["validate"].(map[string]any); ok {
		r.action, r.overrides = strictestAction(validate["failureAction"], validate["failureActionOverrides"], r.action, r.overrides)
	}
	var all bool
	r.match, all = widestMatch(fields["match"])
	_, named := r.match.ExactKinds()
	r.wide = !named
	if exclude, given := fields["exclude"]; given {
		r.exclude = narrowestMatch(exclude)
	}
	if all {
		b.answers("everything%s, as it cannot be read what rule %s is about", b.within(), name)
		return &r
	}
	r.generated, _, _ = wish.generate(r.match, r.exclude)
	b.answers("what rule %s is about%s", name, b.within())
	return &r
}

// within names the namespace that the object reaches, if it has one.
func (b *Broken) within() string {
	if b.Namespace == "" {
		return ""
	}
	return " in namespace " + b.Namespace
}

func (b *Broken) annotations() map[string]string {
	meta, _ := b.object["metadata"].(map[string]any)
	annotations, _ := strictly[map[string]string](meta["annotations"])
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
	list, ok := strictly[[]v1alpha1.FailureActionOverride](overrides)
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
func (r *rule) answerBroken(base decision.Result, results []decision.Result) []decision.Result {
	open := ""
	if r.ignoreErrors {
		open = "failurePolicy Ignore"
	}
	return append(results, r.broken.answer(base, open))
}
