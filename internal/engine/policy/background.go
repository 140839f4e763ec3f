package policy

import "k8s.io/apimachinery/pkg/runtime/schema"

// InBackground reports whether some rule is applied to objects of the kind, which
// is that of a resource, that are in the cluster already.
func (s *Set) InBackground(kind schema.GroupVersionKind, resource schema.GroupVersionResource) bool {
	found := s.modulesInBackground(resource)
	s.rules.about(kind.GroupKind(), func(r *rule) {
		found = found || r.background && (r.match.MayBeAbout(kind) || r.generated.covers(kind.Kind) && s.pods.Makes(kind.GroupKind()))
	})
	return found
}

// ConvertedInBackground reports whether some rule is applied to objects of a kind that
// are in the cluster already which is not about them as another version of it serves
// them.
func (s *Set) ConvertedInBackground(kind, other schema.GroupVersionKind) bool {
	found := false
	s.rules.about(kind.GroupKind(), func(r *rule) {
		found = found || r.background && r.match.Names(kind, other)
	})
	return found
}
