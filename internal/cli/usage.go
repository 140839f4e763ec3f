package cli

import "fmt"

// usageError is an error in how a command was called.
type usageError struct{ error }

// usageOf makes an error of how a command was called.
func usageOf(err error) error { return &usageError{err} }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}
