// Package exception finds what excuses a rule that failed: exceptions, and requests
// for exceptions that were approved. A Set is compiled once and not changed; a
// look-up costs nothing for exceptions that are about something else.
//
// Source: document "Policy Exceptions".
package exception

import (
	"slices"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// The kinds that a Set is compiled from.
const (
	KindException        = "PolicyException"
	KindClusterException = "ClusterPolicyException"
	KindRequest          = "PolicyExceptionRequest"
	KindResponse         = "PolicyExceptionResponse"
	KindExceptionPolicy  = "ExceptionPolicy"
)

// Kinds are all of them.
var Kinds = []string{KindException, KindClusterException, KindRequest, KindResponse, KindExceptionPolicy}

// InWorkflow reports whether a kind is asked for, written or answered in the
// workflow of exceptions: all of Kinds but the rules about them.
func InWorkflow(kind string) bool {
	return kind != KindExceptionPolicy && slices.Contains(Kinds, kind)
}

// Sources are the objects that a Set is compiled from.
type Sources struct {
	Exceptions        []source.Of[*v1alpha1.PolicyException]
	ClusterExceptions []source.Of[*v1alpha1.ClusterPolicyException]
	Requests          []source.Of[*v1alpha1.PolicyExceptionRequest]
	Responses         []source.Of[*v1alpha1.PolicyExceptionResponse]
	ExceptionPolicies []source.Of[*v1alpha1.ExceptionPolicy]
	// Stored are exceptions that are read as they are compiled.
	Stored []*Stored
	// Broken are ExceptionPolicies that cannot be read as such.
	Broken []BrokenPolicy
}

// Add appends what is in other to s, which owns its lists.
func (s *Sources) Add(other Sources) {
	s.Exceptions = append(s.Exceptions, other.Exceptions...)
	s.ClusterExceptions = append(s.ClusterExceptions, other.ClusterExceptions...)
	s.Requests = append(s.Requests, other.Requests...)
	s.Responses = append(s.Responses, other.Responses...)
	s.ExceptionPolicies = append(s.ExceptionPolicies, other.ExceptionPolicies...)
	s.Stored = append(s.Stored, other.Stored...)
	s.Broken = append(s.Broken, other.Broken...)
}

// Empty reports whether there is nothing in the sources.
func (s *Sources) Empty() bool {
	return len(s.Exceptions)+len(s.ClusterExceptions)+len(s.Requests)+len(s.Responses)+len(s.ExceptionPolicies)+len(s.Stored)+len(s.Broken) == 0
}
