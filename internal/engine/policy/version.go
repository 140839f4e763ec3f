package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/identity"
)

// Version is which version of its spec a stored object has.
type Version struct {
	UID        types.UID
	Generation int64
}

// VersionOfObject is that of an object.
func VersionOfObject(o metav1.Object) Version { return Version{o.GetUID(), o.GetGeneration()} }

// VersionOf is the version of a policy that is in force; zero for one that is not in
// the set, or comes from a file.
func (s *Set) VersionOf(ref stored.Ref) Version {
	if object := s.first[ref]; object != nil {
		return VersionOfObject(object)
	}
	return Version{}
}

// keepIdentities keeps which IdentitySources there are, of each name the first.
func (s *Set) keepIdentities(sources []stored.Sourced[*v1alpha1.IdentitySource]) {
	for _, source := range sources {
		id := stored.Ref{Kind: identity.KindSource, Name: source.Object.Name}
		if s.first[id] == nil {
			s.first[id] = source.Object
		}
	}
}

// Stored are the policies and IdentitySources of an API server that are in the set,
// with the version of each that is.
func (s *Set) Stored() map[stored.Ref]Version {
	versions := map[stored.Ref]Version{}
	for id, object := range s.first {
		if object.GetUID() != "" {
			versions[id] = VersionOfObject(object)
		}
	}
	return versions
}
