package cli

import "github.com/spf13/cobra"

func newRequest(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "request", Short: "Ask for an exception or a breakglass session", Args: noCommand,
		Long: `Request asks for what a policy does not let: an exception to it, or a breakglass
session that gives more for a while. It works as the user of the kubeconfig.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRequestException(s), newRequestSession(s))
	return cmd
}

func newApprove(s Streams) *cobra.Command {
	cmd := newApproveException(s)
	cmd.AddCommand(newApproveSession(s))
	return cmd
}

func newDeny(s Streams) *cobra.Command {
	cmd := newDenyException(s)
	cmd.AddCommand(newDenySession(s))
	return cmd
}
