package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/usage"
)

// NoCommand refuses the name of a command that there is not.
func NoCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("there is no command %q", args[0])
	cmd.SuggestionsMinimumDistance = 2
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		message += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usage.Errorf("%s", message)
}

// Exactly checks the number of arguments and names them if they are not there.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage.Errorf("%s is missing", strings.Join(names[len(args):], " "))
		case len(args) > len(names):
			return usage.Errorf("%q is one argument too many; %s is expected", args[len(names)], strings.Join(names, " "))
		}
		return nil
	}
}

// AtLeast checks that there is an argument.
func AtLeast(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage.Errorf("%s is missing", name)
		}
		return nil
	}
}

// None checks that there is no argument.
func None(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage.Errorf("%q is one argument too many; none is expected", args[0])
	}
	return nil
}
