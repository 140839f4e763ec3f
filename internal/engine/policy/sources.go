// Package policy compiles the kinds into rules and decides requests by them.
package policy

import (
	"slices"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/identity"
)

// Sources are the objects that a Set is compiled from.
type Sources struct {
	DenyPolicies    []stored.Sourced[*v1alpha1.DenyPolicy]
	ClusterPolicies []stored.Sourced[*v1alpha1.ClusterPolicy]
	Policies        []stored.Sourced[*v1alpha1.Policy]
	// Of policies that are modules.
	ClusterAdmissionPolicies []stored.Sourced[*v1alpha1.ClusterAdmissionPolicy]
	AdmissionPolicies        []stored.Sourced[*v1alpha1.AdmissionPolicy]
	// ModuleRules are those of them that leave it to the metadata of their modules
	// which requests they are about, as far as their own rules allow.
	ModuleRules map[*v1alpha1.AdmissionPolicySpec]bool
	// PolicyServers run some of these.
	PolicyServers []stored.Sourced[*v1alpha1.PolicyServer]
	// PodKinds say which custom kinds make pods.
	PodKinds []stored.Sourced[*v1alpha1.PodKind]
	// Identities say which identities pods carry.
	Identities []stored.Sourced[*v1alpha1.IdentitySource]
	// Clusters are the further clusters that an installation guards.
	Clusters []stored.Sourced[*v1alpha1.ClusterConfig]
	// Escalations and Sessions are those of breakglass.
	Escalations []stored.Sourced[*v1alpha1.BreakglassEscalation]
	Sessions    []stored.Sourced[*v1alpha1.BreakglassSession]
	// Broken are objects of the API server that cannot work.
	Broken []*stored.Broken
	// Exceptions are exceptions, and what they are asked for, answered and ruled by.
	Exceptions exception.Sources
}

// Kinds are those that a Set is compiled from.
func Kinds() []string { return slices.Clone(kinds) }

var kinds = append([]string{stored.KindDenyPolicy, stored.KindClusterPolicy, stored.KindPolicy, stored.KindClusterAdmissionPolicy, stored.KindAdmissionPolicy, stored.KindPolicyServer, stored.KindPodKind, identity.KindSource, breakglass.KindEscalation, breakglass.KindSession}, exception.Kinds...)
