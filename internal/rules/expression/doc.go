// Package expression compiles and evaluates the Common Expression Language, as
// ValidatingAdmissionPolicy does: with the same libraries, variables, types and
// limits.
//
// An expression is compiled once, in an environment that says which names there
// are and of which types. It is evaluated in an evaluation, which gives those
// names their values, and holds what one judgement may cost. A name more needs
// both: a declaration in newEnvironment, and a value in evaluation.ResolveName,
// which knows the context that a function of such a value has to heed.
package expression
