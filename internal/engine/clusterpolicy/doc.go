// Package clusterpolicy judges by the rules of ClusterPolicies and Policies: patterns, CEL
// expressions and Pod Security Standards, in the forms that are generated for what makes
// pods, with the action that each has in a namespace.
//
// A further kind of rule is a Body; what can be written in a rule and does nothing is found
// in effects.go.
package clusterpolicy
