// Package rbac holds the rights of the account that Sallyport runs as, as they are
// shipped.
package rbac

import _ "embed"

// ClusterRole is the manifest of what the account may do in the whole cluster, and
// ClusterRoleBinding gives it to the account.
var (
	//go:embed clusterrole.yaml
	ClusterRole string
	//go:embed clusterrolebinding.yaml
	ClusterRoleBinding string
)

// Leases is the manifest of what the account may do in its own namespace, with the
// binding.
//
//go:embed leases.yaml
var Leases string
