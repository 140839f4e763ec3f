package cli

import "github.com/spf13/cobra"

func addPoliciesFlag(cmd *cobra.Command, paths *[]string) {
	cmd.Flags().StringArrayVarP(paths, "policies", "p", nil,
		"policies, and objects of the cluster to judge against: a file, a directory, or - (repeatable)")
}
