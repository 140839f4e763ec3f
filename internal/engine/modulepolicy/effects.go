package modulepolicy

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// Effects say what of the selectors and the conditions of a module that was compiled has
// less effect than it looks. wide is nil for an AdmissionPolicy.
func (p *Policy) Effects(spec *v1alpha1.AdmissionPolicySpec, wide *v1alpha1.ClusterAdmissionPolicySpec) []effect.Note {
	at := field.NewPath("spec")
	notes := match.NothingSelected(spec.ObjectSelector, at.Child("objectSelector"))
	if wide != nil {
		notes = append(notes, match.NothingSelected(wide.NamespaceSelector, at.Child("namespaceSelector"))...)
	}
	p.conditions.Literals(func(path string, holds bool) {
		detail := "is false, so that the module is never asked; write when it is to be asked, or take it out"
		if holds {
			detail = "is true, which asks nothing of a request; write when the module is to be asked, or take it out"
		}
		notes = append(notes, effect.ConditionFixed.Note(field.NewPath(path), detail))
	})
	return notes
}
