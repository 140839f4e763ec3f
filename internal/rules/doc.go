// Package rules is the floor of what rules are made of: which requests they are about
// (match), patterns, CEL expressions, the controls of the Pod Security Standards
// (standard), risk factors (risk), and the list of what can be written and has no effect
// (effect).
//
// It imports what is below it. A further risk factor goes to risk, a control to standard,
// an operator of patterns to pattern, a function of CEL to expression. A further kind of
// rule is put together in engine.
package rules
