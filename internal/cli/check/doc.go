// Package check is the command check: it judges manifests at the front door. The demo plays
// its scenes with the same Checker.
//
// A further warning about what is checked is a file of its own; a further flag goes to
// Options, or to judge where another command has it too.
package check
