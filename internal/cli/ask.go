package cli

import (
	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/cli/breakglass"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cli/exception"
)

func newRequest(s command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "request", Short: "Ask for an exception or a breakglass session", Args: command.NoCommand,
		Long: `Request asks for what a policy does not let: an exception to it, or a breakglass
session that gives more for a while. It works as the user of the kubeconfig.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(exception.Request(s), breakglass.Request(s))
	return cmd
}

func newApprove(s command.Streams) *cobra.Command {
	cmd := exception.Approve(s)
	cmd.AddCommand(breakglass.Approve(s))
	return cmd
}

func newDeny(s command.Streams) *cobra.Command {
	cmd := exception.Deny(s)
	cmd.AddCommand(breakglass.Deny(s))
	return cmd
}
