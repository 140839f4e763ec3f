package breakglass

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
)

// Overrides are compiled podSecurityOverrides.
type Overrides struct {
	enabled bool
	// most is the highest score that is let in; nil: scores are not excused.
	most   *int
	exempt *risk.Exemption
	// namespaces is nil where every one is meant; others narrow it further.
	namespaces []*match.Namespaces
	approval   bool
	approvers  *v1alpha1.EscalationApprovers
}

func compileOverrides(from *v1alpha1.PodSecurityOverrides, at *field.Path) (*Overrides, field.ErrorList) {
	o := &Overrides{enabled: from.Enabled, approval: from.RequireApproval, approvers: from.Approvers}
	var errs, more field.ErrorList
	if m := from.MaxAllowedScore; m != nil {
		most := int(*m)
		if o.most = &most; most < 0 {
			errs = append(errs, field.Invalid(at.Child("maxAllowedScore"), most, "is less than zero, which is the least that a pod can score"))
		}
	}
	o.exempt, more = risk.CompileExemption(from.ExemptFactors, at.Child("exemptFactors"))
	errs = append(errs, more...)
	if from.NamespaceScope != nil {
		namespaces, more := match.CompileNamespaces(from.NamespaceScope, at.Child("namespaceScope"))
		errs = append(errs, more...)
		o.namespaces = append(o.namespaces, namespaces)
	}
	if from.Approvers != nil {
		errs = append(errs, checkApprovers(from.Approvers, at.Child("approvers"))...)
		if !from.RequireApproval {
			errs = append(errs, field.Forbidden(at.Child("approvers"), "counts only with requireApproval: true; set it, or leave the approvers out"))
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return o, nil
}

// both are overrides that give no more than either does.
func (o *Overrides) both(other *Overrides) *Overrides {
	if o == nil || other == nil {
		return nil
	}
	n := &Overrides{
		enabled: o.enabled && other.enabled, exempt: o.exempt.Both(other.exempt), approval: o.approval || other.approval,
		namespaces: slices.Concat(o.namespaces, other.namespaces), approvers: o.approvers,
	}
	if o.most != nil && other.most != nil {
		most := min(*o.most, *other.most)
		n.most = &most
	}
	return n
}

// Exempt are the factors that do not count.
func (o *Overrides) Exempt() *risk.Exemption { return o.exempt }

// Lets reports whether a score is let in. Where no highest score is given, none is.
func (o *Overrides) Lets(score int) bool { return o.most != nil && score <= *o.most }

// Approves reports whether a session answers a threshold that requires approval.
func (o *Overrides) Approves(score int) bool { return o.most == nil || score <= *o.most }

// in reports whether pods of a namespace are excused.
func (o *Overrides) in(namespace string, labels func() (map[string]string, error)) (bool, error) {
	for _, n := range o.namespaces {
		if ok, err := n.Select(namespace, labels); !ok {
			return false, err
		}
	}
	return true, nil
}
