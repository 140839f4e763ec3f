package policy

import (
	"sync"

	"github.com/sallyport-io/sallyport/internal/identity"
)

// idSources are the IdentitySources of a Set, with the DenyPolicies whose labels
// templates are marked for as well.
type idSources struct {
	denyPolicies
	// identities are the sources of what pods carry.
	identities *identity.Set
	// caches have the permissions that were found, an identity.Cache a cluster.
	caches *sync.Map
	// brokenIdentities are the sources that are stored and cannot work.
	brokenIdentities []*brokenIdentity
}
