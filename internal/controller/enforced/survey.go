package enforced

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

// Said is what is said of a policy.
type Said struct {
	Policy    stored.Ref
	Condition metav1.Condition
}

// NotSaid is the reason of what cannot be said yet.
const NotSaid = "Waiting"

// Survey lists what is said of the policies of a set, in the order of their kinds and
// names. What cannot be said yet is unknown.
func (p *Parts) Survey(set *policy.Set) []Said {
	var all []Said
	for ref, version := range set.Stored() {
		if !asked(ref.Kind) {
			continue
		}
		condition, known := p.Condition(ref, version, true)
		if !known && (ref.Kind == stored.KindClusterAdmissionPolicy || ref.Kind == stored.KindAdmissionPolicy) {
			// A PolicyServer of its own may run it.
			continue
		}
		if !known {
			condition = metav1.Condition{Status: metav1.ConditionUnknown, Reason: NotSaid, Message: "it is being found out"}
		}
		all = append(all, Said{ref, condition})
	}
	slices.SortFunc(all, func(a, b Said) int { return a.Policy.Compare(b.Policy) })
	return all
}
