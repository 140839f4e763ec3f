// Package cli is the command line: a file a command. Commands read and write the
// streams that they are given, and nothing else of the process, so that tests
// run them as users do.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// The exit status of every command.
const (
	exitAllowed = 0
	exitDenied  = 1
	exitWrong   = 2
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Now is the time that exceptions are valid or expired by; nil: the clock of
	// the machine.
	Now func() time.Time
	// Cluster is worked on in place of that of a kubeconfig, if it is not nil.
	Cluster client.WithWatch
}

func (s *Streams) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// exitError ends a command with a status once all has been said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Main runs the command that args name, without the program's own name, and
// returns the exit status: 0 for allowed, 1 for something denied, 2 for
// something that could not be judged or input that is wrong.
func Main(ctx context.Context, args []string, s Streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	var exit exitError
	switch {
	case err == nil:
		return exitAllowed
	case errors.As(err, &exit):
		return int(exit)
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(s.Err, decision.Clean(strings.TrimRight(line, "\n")))
	}
	var usage *usageError
	if errors.As(err, &usage) || isCobraUsage(err) {
		fmt.Fprintf(s.Err, "See '%s --help'.\n", command.CommandPath())
	}
	return exitWrong
}

// usageError is an error in how a command was called.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// isCobraUsage reports whether cobra itself found fault with the arguments
// before the command ran; its errors have no type.
func isCobraUsage(err error) bool {
	message := err.Error()
	for _, start := range []string{"unknown command", "required flag", "if any flags in the group", "at least one of the flags"} {
		if strings.HasPrefix(message, start) {
			return true
		}
	}
	return false
}

func newRoot(s Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "sallyport",
		Short: "Guard both doors of every Kubernetes pod: admission and access",
		Long: `Sallyport guards both doors of every Kubernetes pod with one set of policies:
the front door, where pods and what makes them are created or changed, and the
side door, where somebody execs into, attaches to, forwards ports of, proxies to
or debugs a pod that runs.

Every command exits with 0 if all is allowed, 1 if something is denied, and 2 if
something could not be judged or the input is wrong.`,
		Example: `  sallyport demo
  sallyport check -p policies/ manifests/
  sallyport access exec shop/web -p policies/ -p cluster.yaml
  sallyport serve --from /etc/sallyport`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(
		newServe(s), newCheck(s), newAccess(s), newReview(s), newConvert(s), newRequest(s), newApprove(s), newDeny(s), newWithdraw(s), newRevoke(s), newExceptions(s), newSessions(s), newWhoCan(s), newIdentities(s), newPolicy(s), newDemo(s), newVersion(s), newCompletion(s),
	)
	return root
}

// noCommand refuses the name of a command that there is not.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("there is no command %q", args[0])
	cmd.SuggestionsMinimumDistance = 2
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		message += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usagef("%s", message)
}

// exactly checks the number of arguments and names them if they are not there.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%s is missing", strings.Join(names[len(args):], " "))
		case len(args) > len(names):
			return usagef("%q is one argument too many; %s is expected", args[len(names)], strings.Join(names, " "))
		}
		return nil
	}
}

// atLeast checks that there is an argument.
func atLeast(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s is missing", name)
		}
		return nil
	}
}

// none checks that there is no argument.
func none(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%q is one argument too many; none is expected", args[0])
	}
	return nil
}
