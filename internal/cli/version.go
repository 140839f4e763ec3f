package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/app/version"
	"github.com/sallyport-io/sallyport/internal/cli/command"
)

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
				line := "sallyport " + info.Version
				if info.Revision != "" {
					line += " (" + info.Revision + ")"
				}
				_, err := fmt.Fprintf(s.Out, "%s %s %s\n", line, info.Go, info.Platform)
				return err
			default:
				return usage.Errorf("there is no output format %q; there are text and json", format)
			}
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text or json")
	return cmd
}
