package deny

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/text/glob"
)

// locksOut reports whether the rules keep everybody from taking the policy away, from
// changing it, and from excusing anyone from it.
func (p *Policy) locksOut(scope *v1alpha1.DenyPolicyScope) bool {
	if scope != nil && (len(scope.Tenants)+len(scope.EscalationRefs)+len(scope.Sessions) > 0 || !slices.Contains(scope.Clusters, stored.Anything)) {
		return false
	}
	denies := func(verb, resource string) bool {
		return slices.ContainsFunc(p.Rules, func(d *Rule) bool {
			return d.namespaces == nil && d.everyName() && d.verbs.Match(verb) && d.isAbout(ResourceKey{v1alpha1.GroupVersion.Group, resource, ""})
		})
	}
	// The front door tells a patch from an update as little as it tells who is above
	// all authorization.
	const own, excuses = "denypolicies", "clusterpolicyexceptions"
	return denies("delete", own) && (denies("update", own) || denies("patch", own)) && denies("create", excuses)
}

// Effects say what of a DenyPolicy that was compiled has less effect than it looks.
func (p *Policy) Effects(spec *v1alpha1.DenyPolicySpec) []effect.Note {
	var notes []effect.Note
	terms := func(filter *v1alpha1.NamespaceFilter, at *field.Path) {
		if filter == nil {
			return
		}
		for i := range filter.SelectorTerms {
			notes = append(notes, match.NothingSelected(&filter.SelectorTerms[i], at.Child("selectorTerms").Index(i))...)
		}
	}
	for i := range spec.Rules {
		terms(spec.Rules[i].Namespaces, field.NewPath("spec", "rules").Index(i).Child("namespaces"))
	}
	if spec.PodSecurityRules == nil || spec.PodSecurityRules.Exemptions == nil || spec.PodSecurityRules.Exemptions.Namespaces == nil {
		return notes
	}
	exempt := spec.PodSecurityRules.Exemptions.Namespaces
	at := field.NewPath("spec", "podSecurityRules", "exemptions", "namespaces")
	if exemptsEvery(exempt) {
		return append(notes, effect.ExemptsAll.Note(at))
	}
	terms(exempt, at)
	return notes
}

// exemptsEvery reports whether a filter of namespaces takes in every one that there can
// be.
func exemptsEvery(f *v1alpha1.NamespaceFilter) bool {
	return slices.ContainsFunc(f.Patterns, glob.Everything)
}
