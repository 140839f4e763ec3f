package command

import "github.com/spf13/cobra"

// AddPolicies adds -p, whose values go to paths.
func AddPolicies(cmd *cobra.Command, paths *[]string) {
	cmd.Flags().StringArrayVarP(paths, "policies", "p", nil,
		"policies, and objects of the cluster to judge against: a file, a directory, or - (repeatable)")
}
