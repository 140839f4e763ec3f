package cli

import "fmt"

// The exit status of every command.
const (
	exitAllowed = 0
	exitDenied  = 1
	exitWrong   = 2
)

// exitError ends a command with a status once all has been said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
