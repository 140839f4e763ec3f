// Package engine is the floor on which decisions are made: kinds compiled to an immutable
// set, and the set deciding requests (policy); what policies of every runtime ask, answered
// through the one gate (contexthost).
//
// It imports what is below it, and neither a door nor a controller nor controller-runtime.
// A further kind of rule, or a further kind of ours that decides, goes to policy.
package engine
