package policy

import "k8s.io/apimachinery/pkg/runtime/schema"

// InBackground reports whether some rule is applied to objects of the kind that
// are in the cluster already.
func (s *Set) InBackground(kind schema.GroupVersionKind) bool {
	found := false
	s.rules.about(kind.Kind, func(r *rule) {
		found = found || r.background && (r.match.MayBeAbout(kind) || r.generated.covers(kind.Kind) && s.pods.Makes(kind.GroupKind()))
	})
	return found
}
