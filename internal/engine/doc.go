// Package engine is the floor on which decisions are made: all kinds compiled to an
// immutable set, and the set deciding requests (policy), by DenyPolicies (deny),
// ClusterPolicies and Policies (clusterpolicy), modules (modulepolicy) and IdentitySources
// (identityrule), each of which reads the request that is decided (call) and answers for
// objects that cannot work (stored); and what policies of every runtime ask, answered
// through the one gate (contexthost).
//
// It imports what is below it, and neither a door nor a controller nor controller-runtime.
// A further kind of ours that decides gets a package beside these, and policy compiles it
// into the set.
package engine
