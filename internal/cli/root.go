package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/access"
	"github.com/sallyport-io/sallyport/internal/cli/breakglass"
	"github.com/sallyport-io/sallyport/internal/cli/check"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cli/convert"
	"github.com/sallyport-io/sallyport/internal/cli/demo"
	"github.com/sallyport-io/sallyport/internal/cli/doctor"
	"github.com/sallyport-io/sallyport/internal/cli/exception"
	"github.com/sallyport-io/sallyport/internal/cli/identity"
	"github.com/sallyport-io/sallyport/internal/cli/module"
	"github.com/sallyport-io/sallyport/internal/cli/plugin"
	"github.com/sallyport-io/sallyport/internal/cli/review"
	"github.com/sallyport-io/sallyport/internal/cli/wiring"
	"github.com/sallyport-io/sallyport/internal/review/decision"
)

// Main runs the command that args name, without the program's own name, and
// returns the exit status: 0 for allowed, 1 for something denied, 2 for
// something that could not be judged or input that is wrong.
func Main(ctx context.Context, args []string, s command.Streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	var exit command.Exit
	switch {
	case err == nil:
		return command.Allowed
	case errors.As(err, &exit):
		return int(exit)
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(s.Err, decision.Clean(strings.TrimRight(line, "\n")))
	}
	var wrong *usage.Error
	if errors.As(err, &wrong) || isCobraUsage(err) {
		fmt.Fprintf(s.Err, "See '%s --help'.\n", ran.CommandPath())
	}
	return command.Wrong
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

func newRoot(s command.Streams) *cobra.Command {
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
		Args:          command.NoCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage.Of(err) })
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(
		newServe(s), check.Command(s), access.Command(s), review.Command(s), convert.Command(s), newRequest(s), newApprove(s), newDeny(s), breakglass.Withdraw(s), breakglass.Revoke(s), exception.List(s), breakglass.List(s), identity.WhoCan(s), identity.List(s), module.Command(s), doctor.Command(s), wiring.Command(s), demo.Command(s), newVersion(s), newCompletion(s),
	)
	withVersion(root)
	if plugin.Is(s.Program) {
		plugin.Rename(root)
	}
	return root
}
