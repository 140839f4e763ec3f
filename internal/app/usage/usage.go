// Package usage holds errors in how the program was called: who gets one is told where
// its help is. An error that has another cause is none of them.
package usage

import "fmt"

// Error is an error in how a command was called.
type Error struct{ error }

// Of makes an error of how a command was called.
func Of(err error) error { return &Error{err} }

// Errorf makes such an error as fmt.Errorf does.
func Errorf(format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...)}
}
