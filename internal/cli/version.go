package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/app/version"
	"github.com/sallyport-io/sallyport/internal/cli/command"
)

// withVersion has the root say the version at --version too, in the same line.
func withVersion(root *cobra.Command) {
	root.Version = version.Read().String()
	root.SetVersionTemplate("{{.Version}}\n")
	// cobra would give it a short form, which other commands read as verbose.
	root.Flags().Bool("version", false, "print the version")
}

func newVersion(s command.Streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  command.None,
		RunE: func(*cobra.Command, []string) error {
			info := version.Read()
			switch format {
			case "json":
				encoder := json.NewEncoder(s.Out)
				encoder.SetIndent("", "  ")
				return encoder.Encode(info)
			case "text":
				_, err := fmt.Fprintln(s.Out, info)
				return err
			default:
				return usage.Errorf("there is no output format %q; there are text and json", format)
			}
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text or json")
	return cmd
}
