package identityrule

import (
	"sync"

	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/identity"
)

// Sources are the IdentitySources of a Set, with the DenyPolicies whose labels
// templates are marked for as well.
type Sources struct {
	deny.Policies
	// Identity are the sources of what pods carry.
	Identity *identity.Set
	// Caches have the permissions that were found, an identity.Cache a cluster.
	Caches *sync.Map
	// BrokenIdentities are the sources that are stored and cannot work.
	BrokenIdentities []*brokenIdentity
}
