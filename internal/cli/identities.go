package cli

import "github.com/spf13/cobra"

// newIdentities is the parent of what is done about identities.
func newIdentities(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "identities", Short: "See to the identities that pods carry",
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newIdentitiesBootstrap(s))
	return cmd
}
