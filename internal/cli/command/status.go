package command

import "fmt"

// The exit status of every command.
const (
	Allowed = 0
	Denied  = 1
	Wrong   = 2
)

// Exit is the error that ends a command with a status once all has been said.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
