package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/effect"
)

// locksOut reports whether the rule denies every request of everybody.
func (d *denyRule) locksOut() bool {
	all := func(list []string) bool { return slices.Contains(list, anything) }
	w := d.written
	everyResource := all(w.Resources) || slices.Contains(w.Resources, "*/*")
	return all(w.Verbs) && all(w.APIGroups) && everyResource && (len(w.Subresources) == 0 || all(w.Subresources)) &&
		d.everyName() && (w.Namespaces == nil || all(w.Namespaces.Patterns))
}

// effects say what of a DenyPolicy that was compiled has less effect than it looks.
func (p *denyPolicy) effects(spec *v1alpha1.DenyPolicySpec) []effect.Note {
	risk := spec.PodSecurityRules
	if risk == nil || risk.Exemptions == nil || risk.Exemptions.Namespaces == nil || !slices.Contains(risk.Exemptions.Namespaces.Patterns, anything) {
		return nil
	}
	return []effect.Note{effect.ExemptsAll.Note(field.NewPath("spec", "podSecurityRules", "exemptions", "namespaces"))}
}
