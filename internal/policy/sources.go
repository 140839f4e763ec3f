package policy

import "github.com/sallyport-io/sallyport/api/v1alpha1"

// Sourced is an object with the file and document that it was read from.
type Sourced[T any] struct {
	Object T
	// Origin such as "policies/prod.yaml, document 2"; empty for an object of
	// the API server.
	Origin string
}

// Sources are the objects that a Set is compiled from.
type Sources struct {
	DenyPolicies    []Sourced[*v1alpha1.DenyPolicy]
	ClusterPolicies []Sourced[*v1alpha1.ClusterPolicy]
	Policies        []Sourced[*v1alpha1.Policy]
}

// kinds that a Set is compiled from.
var kinds = []string{KindDenyPolicy, KindClusterPolicy, KindPolicy}
