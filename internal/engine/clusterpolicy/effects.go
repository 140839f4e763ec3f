package clusterpolicy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/standard"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// effects say what of a rule that was compiled has less effect than it looks.
func (r *Rule) effects(source *v1alpha1.Rule, at *field.Path) []effect.Note {
	var notes []effect.Note
	notes = append(notes, r.excludeIdle(at.Child("exclude"))...)
	v, own := &source.Validate, at.Child("validate")
	notes = append(notes, variableIn(v.Message, own.Child("message"))...)
	existing := v.AllowExistingViolations == nil || *v.AllowExistingViolations
	switch body := r.Body.(type) {
	case *patternRule:
		if body.pattern != nil {
			notes = append(notes, body.pattern.Notes()...)
		}
		notes = append(notes, r.fieldsUnknown(v.Pattern, own.Child("pattern"))...)
		notes = append(notes, r.fieldsUnknown(v.AnyPattern, own.Child("anyPattern"))...)
	case *StandardRule:
		if !existing {
			notes = append(notes, effect.ExistingIdle.Note(own.Child("allowExistingViolations"), "a Pod Security Standard is judged again whenever something changes that it is about"))
		}
		if body != nil {
			notes = append(notes, body.effects(v.PodSecurity, own.Child("podSecurity"))...)
		}
	case *celRule:
		if !existing {
			notes = append(notes, effect.ExistingIdle.Note(own.Child("allowExistingViolations"), "expressions are judged at each update, and can compare with oldObject"))
		}
		notes = append(notes, expressionsIdle(v.CEL, own.Child("cel"))...)
	}
	return notes
}

// excludeIdle says that a rule excludes all that it matches, or nothing of it. A kind
// that is not one of Kubernetes may make pods.
func (r *Rule) excludeIdle(at *field.Path) []effect.Note {
	if r.exclude == nil {
		return nil
	}
	// What makes the pods that a rule is about may be in no namespace.
	if c := r.Match.Covered(r.exclude, match.Space{Namespace: r.Namespace, MayBeInNone: r.Generated.On, Rule: true}); c.All {
		return []effect.Note{effect.ExcludesAll.Note(at, c.But())}
	}
	if note, ok := r.excludesOtherKinds(at); ok {
		return []effect.Note{note}
	}
	var notes []effect.Note
	r.Match.ExcludesNothing(r.exclude, r.Namespace, at, func(at *field.Path, what, one, other string) {
		notes = append(notes, effect.ExcludesNothing.Note(at, fmt.Sprintf("%s %s, which the rule is not about; it is about %s", what, one, other)))
	})
	return notes
}

func (r *Rule) excludesOtherKinds(at *field.Path) (effect.Note, bool) {
	matched, exact := r.Match.ExactKinds()
	excluded, exactly := r.exclude.ExactKinds()
	if !exact || !exactly || len(matched) == 0 || len(excluded) == 0 {
		return effect.Note{}, false
	}
	for name := range excluded {
		if _, both := matched[name]; both || r.Generated.On && (pod.Default().MakesKind(name) || !match.BuiltInKind(name)) {
			return effect.Note{}, false
		}
	}
	return effect.ExcludesNothing.Note(at, fmt.Sprintf("%s, which the rule is not about; it is about %s", strings.Join(r.exclude.KindNames(), ", "), strings.Join(r.Match.KindNames(), ", "))), true
}

// effects say what of validate.podSecurity has no effect.
func (s *StandardRule) effects(written *v1alpha1.PodSecurityStandard, at *field.Path) []effect.Note {
	var notes []effect.Note
	if s.Fixed == nil {
		return versionsIdle(written.Defaults, at.Child("defaults"))
	}
	if written.Level == v1alpha1.LevelPrivileged {
		return append(notes, effect.DemandsNothing.Note(at.Child("level"), "privileged demands nothing, so that the rule lets every pod in; write baseline or restricted, or take the rule out"))
	}
	return ExclusionsIdle(effect.ExclusionIdle, s.exclude, at.Child("exclude"), s.Fixed)
}

// ExclusionsIdle says which exclusions excuse nothing that the standards demand.
func ExclusionsIdle(rule *effect.Rule, exclude standard.Exclusions, at *field.Path, demanded ...*standard.Standard) []effect.Note {
	var notes []effect.Note
	for _, idle := range exclude.Idle(demanded...) {
		path := at.Index(idle.Index).Child("controlName")
		if idle.Field {
			path = at.Index(idle.Index).Child("restrictedField")
		}
		notes = append(notes, rule.Note(path, idle.Detail))
	}
	return notes
}

// versionsIdle says which versions of defaults stand without a level that demands
// something.
func versionsIdle(d *v1alpha1.StandardDefaults, at *field.Path) []effect.Note {
	if d == nil {
		return nil
	}
	var notes []effect.Note
	for _, pair := range []struct {
		name    string
		level   v1alpha1.StandardLevel
		version string
	}{{"enforce", d.Enforce, d.EnforceVersion}, {"audit", d.Audit, d.AuditVersion}, {"warn", d.Warn, d.WarnVersion}} {
		if pair.version != "" && (pair.level == "" || pair.level == v1alpha1.LevelPrivileged) {
			notes = append(notes, effect.VersionIdle.Note(at.Child(pair.name+"-version"), pair.name))
		}
	}
	return notes
}

// expressionsIdle says which expressions demand nothing, and which variables none of
// them uses.
func expressionsIdle(v *v1alpha1.CELValidation, at *field.Path) []effect.Note {
	var notes []effect.Note
	used := make([]string, 0, len(v.Expressions)+len(v.Variables))
	for i := range v.Expressions {
		e, path := &v.Expressions[i], at.Child("expressions").Index(i)
		if holds, ok := expression.Literal(e.Expression); ok && holds {
			notes = append(notes, effect.DemandsNothing.Note(path.Child("expression"), "true demands nothing of the object; write what it has to be"))
		}
		notes = append(notes, variableIn(e.Message, path.Child("message"))...)
		used = append(used, e.Expression, e.MessageExpression)
	}
	for i := range v.Variables {
		used = append(used, v.Variables[i].Expression)
	}
	for i := range v.Variables {
		name := v.Variables[i].Name
		if !slices.ContainsFunc(used, func(text string) bool { return strings.Contains(text, "variables."+name) }) {
			notes = append(notes, effect.VariableIdle.Note(at.Child("variables").Index(i), name, name))
		}
	}
	return notes
}

// variableIn says that a message holds what looks like a variable.
func variableIn(message string, at *field.Path) []effect.Note {
	if !strings.Contains(message, "{{") {
		return nil
	}
	return []effect.Note{effect.Variable.Note(at, strconv.Quote(message), "write the message without it (findings name the field and its value), or use messageExpression of validate.cel")}
}

// overridesIdle says which overrides of the action no request comes to.
func overridesIdle(kind, namespace string, spec *v1alpha1.PolicySpec) []effect.Note {
	at := field.NewPath("spec")
	notes := OverridesTwice(kind, namespace, spec.ValidationFailureActionOverrides, at.Child("validationFailureActionOverrides"))
	own := func(r v1alpha1.Rule) bool {
		return r.Validate.FailureAction != "" || r.Validate.FailureActionOverrides != nil
	}
	if len(spec.ValidationFailureActionOverrides) > 0 && !slices.ContainsFunc(spec.Rules, func(r v1alpha1.Rule) bool { return !own(r) }) {
		notes = append(notes, effect.OverridesIdle.Note(at.Child("validationFailureActionOverrides"),
			"have no effect: each rule has a failureAction or failureActionOverrides of its own, which count in their place; write them into the rules"))
	}
	for i := range spec.Rules {
		path := at.Child("rules").Index(i).Child("validate", "failureActionOverrides")
		notes = append(notes, OverridesTwice(kind, namespace, spec.Rules[i].Validate.FailureActionOverrides, path)...)
	}
	return notes
}

// OverridesTwice says which overrides are for namespaces that the policy is not
// about, or that an earlier one has.
func OverridesTwice(kind, namespace string, list []v1alpha1.FailureActionOverride, at *field.Path) []effect.Note {
	var notes []effect.Note
	seen := map[string]int{}
	for i := range list {
		for j, name := range list[i].Namespaces {
			path := at.Index(i).Child("namespaces").Index(j)
			first, twice := seen[name]
			switch {
			case twice && first != i:
				notes = append(notes, effect.OverridesIdle.Note(path, fmt.Sprintf("%q has the action of [%d] already, the first that names it; give the namespace one action", name, first)))
			case kind == stored.KindPolicy && !glob.Match(name, namespace):
				notes = append(notes, effect.OverridesIdle.Note(path, fmt.Sprintf("a Policy is about its own namespace %q only, and not about %q; take it out, or write a ClusterPolicy", namespace, name)))
			}
			if !twice && list[i].NamespaceSelector == nil {
				seen[name] = i
			}
		}
	}
	return notes
}
