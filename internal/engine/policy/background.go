package policy

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/clusterpolicy"
)

// InBackground reports whether some rule is applied to objects of the kind, which
// is that of a resource, that are in the cluster already.
func (s *Set) InBackground(kind schema.GroupVersionKind, resource schema.GroupVersionResource) bool {
	found := s.ModulesInBackground(resource)
	s.rules.About(kind.GroupKind(), func(r *clusterpolicy.Rule) {
		found = found || r.Background && (r.Match.MayBeAbout(kind) || r.Generated.Covers(kind.Kind) && s.Registry.Makes(kind.GroupKind()))
	})
	return found
}

// ConvertedInBackground reports whether some rule is applied to objects of a kind that
// are in the cluster already which is not about them as another version of it serves
// them.
func (s *Set) ConvertedInBackground(kind, other schema.GroupVersionKind) bool {
	found := false
	s.rules.About(kind.GroupKind(), func(r *clusterpolicy.Rule) {
		found = found || r.Background && r.Match.Names(kind, other)
	})
	return found
}
