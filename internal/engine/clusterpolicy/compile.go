package clusterpolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/pattern"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// RulesOf is what a policy is compiled to.
type RulesOf struct {
	Rules []*Rule
	// Context is what the policy may read; nil for nothing.
	Context *contextgate.Policy
	// badContext is set where that is not known, for what is wrong with it.
	badContext bool
	// Warnings say what a reader of the policy might get wrong.
	Warnings []effect.Note
	// Makers are the kinds that have to make pods. Which do is not asked here, so that
	// a policy need not be compiled again when a PodKind comes or goes.
	Makers []makerNamed
}

// CompilePolicy compiles the rules of a ClusterPolicy or a Policy. compiled has what
// they may read.
func CompilePolicy(kind string, meta *metav1.ObjectMeta, spec *v1alpha1.PolicySpec, compiled RulesOf) (RulesOf, field.ErrorList) {
	at := field.NewPath("spec")
	var errs field.ErrorList
	action, err := compileAction(spec.ValidationFailureAction, at.Child("validationFailureAction"))
	if err != nil {
		errs = append(errs, err)
	}
	if action == "" {
		action = decision.Enforce
	}
	overrides, more := compileOverrides(spec.ValidationFailureActionOverrides, at.Child("validationFailureActionOverrides"))
	errs = append(errs, more...)
	switch spec.FailurePolicy {
	case "", v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore:
	default:
		errs = append(errs, field.NotSupported(at.Child("failurePolicy"), spec.FailurePolicy,
			[]v1alpha1.FailurePolicy{v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyIgnore}))
	}
	if len(spec.Rules) == 0 {
		errs = append(errs, field.Required(at.Child("rules"), "requires nothing; give at least one rule"))
	}
	wish, makers, more := readAutogen(meta.Annotations)
	compiled.Makers = makers
	errs = append(errs, more...)
	names := map[string]int{}
	for i := range spec.Rules {
		source, ruleAt := &spec.Rules[i], at.Child("rules").Index(i)
		if source.Name == "" {
			errs = append(errs, field.Required(ruleAt.Child("name"), "give the rule a name: results and exceptions refer to it"))
		} else if first, taken := names[source.Name]; taken {
			errs = append(errs, field.Invalid(ruleAt.Child("name"), source.Name, fmt.Sprintf("is the name of rules[%d] already; names are unique in a policy", first)))
		}
		names[source.Name] = i
		r := &Rule{
			Policy: meta.Name, Namespace: meta.Namespace, Kind: kind,
			Name: source.Name, Autogen: "autogen-" + source.Name, Cronjob: "autogen-cronjob-" + source.Name,
			Message: source.Validate.Message, Action: action, overrides: overrides,
			IgnoreErrors: spec.FailurePolicy == v1alpha1.FailurePolicyIgnore,
			Background:   spec.Background == nil || *spec.Background,
		}
		errs = append(errs, r.compile(source, ruleAt, &wish, &compiled)...)
		compiled.Rules = append(compiled.Rules, r)
	}
	if len(errs) > 0 {
		return RulesOf{Makers: compiled.Makers}, errs
	}
	compiled.Warnings = append(compiled.Warnings, overridesIdle(kind, meta.Namespace, spec)...)
	compiled.Warnings = append(compiled.Warnings, scaleForgotten(compiled.Rules, spec.Rules, at.Child("rules"))...)
	return compiled, nil
}

// compile compiles what stands in one rule.
func (r *Rule) compile(source *v1alpha1.Rule, at *field.Path, wish *autogenWish, into *RulesOf) field.ErrorList {
	var errs, more field.ErrorList
	r.Match, more = match.Compile(&source.Match, at.Child("match"))
	errs = append(errs, more...)
	if len(more) == 0 {
		errs = append(errs, checkNamesKinds(&source.Match, at.Child("match"))...)
	}
	if source.Exclude != nil {
		r.exclude, more = match.Compile(source.Exclude, at.Child("exclude"))
		errs = append(errs, more...)
	}
	validate, own := &source.Validate, at.Child("validate")
	action, err := compileAction(validate.FailureAction, own.Child("failureAction"))
	if err != nil {
		errs = append(errs, err)
	}
	if action != "" {
		r.Action, r.overrides = action, nil
	}
	if validate.FailureActionOverrides != nil {
		r.overrides, more = compileOverrides(validate.FailureActionOverrides, own.Child("failureActionOverrides"))
		errs = append(errs, more...)
	}
	r.Body, more = CompileBody(validate, into, own)
	errs = append(errs, more...)
	if r.Kind == stored.KindPolicy {
		errs = append(errs, r.checkOwnNamespace(at)...)
	}
	idle := func(at *field.Path, detail string) {
		into.Warnings = append(into.Warnings, effect.MatchesNothing.Note(at, detail))
	}
	r.Match.Idle(at.Child("match"), true, idle)
	r.exclude.Idle(at.Child("exclude"), false, idle)
	r.Match.InNoNamespace(at.Child("match"), r.Kind == stored.KindPolicy, func(at *field.Path, named string) {
		right := "leave the namespaces out, or write them into a filter of their own"
		if r.Kind == stored.KindPolicy {
			right = "write a ClusterPolicy about it"
		}
		idle(at, fmt.Sprintf("matches nothing: a %s is in no namespace; %s", named, right))
	})
	var place, warned string
	r.Generated, place, warned = wish.generate(r.Match, r.exclude)
	if _, ok := r.Body.(*StandardRule); ok {
		into.Makers = append(into.Makers, makersMatched(r.Match, at.Child("match"))...)
	}
	into.Warnings = append(into.Warnings, r.effects(source, at)...)
	if warned != "" {
		into.Warnings = append(into.Warnings, effect.PodsOnly.Note(at.Child(place), warned))
	}
	return errs
}

// CompileBody compiles the one thing that a rule requires.
func CompileBody(v *v1alpha1.Validation, in *RulesOf, at *field.Path) (body, field.ErrorList) {
	given := 0
	for _, is := range []bool{v.Pattern != nil, v.AnyPattern != nil, v.PodSecurity != nil, v.CEL != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		detail := "requires nothing; give one of pattern, anyPattern, podSecurity and cel"
		if given > 1 {
			detail = "requires several things; give one of pattern, anyPattern, podSecurity and cel, and write a rule for each of the others"
		}
		return nil, field.ErrorList{field.Required(at, detail)}
	}
	existing := v.AllowExistingViolations == nil || *v.AllowExistingViolations
	switch {
	case v.PodSecurity != nil:
		return compileStandard(v.PodSecurity, at.Child("podSecurity"))
	case v.CEL != nil:
		return compileCEL(v.CEL, in, at.Child("cel"))
	case v.Pattern != nil:
		tree, errs := decodePattern(v.Pattern, at.Child("pattern"))
		if len(errs) > 0 {
			return nil, errs
		}
		if err := checkRequires(tree, at.Child("pattern")); err != nil {
			return nil, field.ErrorList{err}
		}
		compiled, errs := pattern.Compile(tree, at.Child("pattern"))
		return &patternRule{pattern: compiled, allowExisting: existing, asPod: asksForPod(v.Pattern.Raw)}, errs
	default:
		tree, errs := decodePattern(v.AnyPattern, at.Child("anyPattern"))
		if len(errs) > 0 {
			return nil, errs
		}
		list, ok := tree.([]any)
		if !ok {
			return nil, field.ErrorList{field.Invalid(at.Child("anyPattern"), string(v.AnyPattern.Raw), "is a list of patterns")}
		}
		for i := range list {
			if err := checkRequires(list[i], at.Child("anyPattern").Index(i)); err != nil {
				errs = append(errs, err)
			}
		}
		if len(errs) > 0 {
			return nil, errs
		}
		compiled, errs := pattern.CompileAny(list, at.Child("anyPattern"))
		return &patternRule{pattern: compiled, allowExisting: existing, asPod: asksForPod(v.AnyPattern.Raw)}, errs
	}
}

// checkRequires refuses a pattern that every object matches, and one that none
// can match because an object is a map.
func checkRequires(tree any, at *field.Path) *field.Error {
	switch pattern := tree.(type) {
	case map[string]any:
		if len(pattern) == 0 {
			return field.Required(at, "is empty and matches every object; write the fields that are required")
		}
		return nil
	case nil:
		return field.Required(at, "is null; write the fields that are required, as a map")
	default:
		return field.Invalid(at, tree, "matches no object; write the fields that are required, as a map")
	}
}

// asksForPod reports whether a pattern may ask for what a Pod has and the template
// that it is made from has not.
func asksForPod(pattern []byte) bool {
	return slices.ContainsFunc([]string{"namespace", "kind", "apiVersion"}, func(name string) bool { return bytes.Contains(pattern, []byte(name)) })
}

// decodePattern reads free JSON as a tree.
func decodePattern(raw *apiextensionsv1.JSON, at *field.Path) (any, field.ErrorList) {
	wrapped, err := json.Marshal(map[string]json.RawMessage{"pattern": raw.Raw})
	if err == nil {
		var tree map[string]any
		if tree, err = apijson.Tree(wrapped); err == nil {
			return tree["pattern"], nil
		}
	}
	return nil, field.ErrorList{field.Invalid(at, string(raw.Raw), err.Error())}
}

// makersMatched are the kinds that a pod security rule is about: one that holds no pod
// would pass everything.
func makersMatched(m *match.Match, path *field.Path) []makerNamed {
	var makers []makerNamed
	m.Kinds(path, func(kind match.Kind, at *field.Path) {
		if name, exact := kind.Exact(); exact {
			makers = append(makers, makerNamed{name, field.Invalid(at, name, "holds no pod that is known here, so validate.podSecurity would pass every one; name Pod or a kind that makes pods")})
		}
	})
	return makers
}

// checkOwnNamespace refuses a Policy that names other namespaces than its own.
func (r *Rule) checkOwnNamespace(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	r.Match.Namespaces(at.Child("match"), func(pattern string, at *field.Path) {
		if pattern != r.Namespace && pattern != "*" {
			errs = append(errs, field.Invalid(at, pattern, fmt.Sprintf("a Policy is only about its own namespace %q; use a ClusterPolicy", r.Namespace)))
		}
	})
	return errs
}

// checkNamesKinds refuses filters that narrow resources and name no kind: what a
// rule is about must be said.
func checkNamesKinds(m *v1alpha1.Match, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	named := false
	match.EachFilter(m, path, func(f *v1alpha1.ResourceFilter, at *field.Path) {
		names := len(f.Kind) > 0 || f.Resources != nil && len(f.Resources.Kinds) > 0
		narrows := f.Resources != nil || len(f.Name) > 0 || len(f.Namespace) > 0
		named = named || names
		if narrows && !names {
			errs = append(errs, field.Required(at.Child("resources", "kinds"), "name at least one kind, such as Pod, or \"*\" for every kind"))
		}
	})
	// Of filters that all have to hold, one is enough to name the kinds.
	if len(m.All) > 0 && named {
		return nil
	}
	return errs
}
