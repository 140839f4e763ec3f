package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/module"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

func newPolicyAnnotate(s Streams) *cobra.Command {
	var metadata, output string
	cmd := &cobra.Command{
		Use: "annotate MODULE -m METADATA -o FILE", Short: "Write metadata into a module",
		Long: `Annotate writes the metadata of a YAML or JSON file into a module, in place of what
it had: which requests it is for, whether it changes them, and what it asks to
read. Nothing is written if the metadata cannot be right.`,
		Example: "  sallyport policy annotate policy.wasm -m metadata.yml -o annotated-policy.wasm",
		Args:    oneModule,
		RunE: func(cmd *cobra.Command, args []string) error {
			if metadata == "" || output == "" {
				return usagef("give the metadata with -m, and the file to write with -o")
			}
			read, err := readModule(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if _, err := wasm.Detect(read.Wasm); err != nil {
				return err
			}
			text, err := os.ReadFile(metadata)
			if err != nil {
				return fmt.Errorf("the metadata cannot be read: %w", err)
			}
			m, err := module.ReadYAML(text)
			if err == nil {
				err = m.Check()
			}
			if err != nil {
				return fmt.Errorf("%s: %w", metadata, err)
			}
			annotated, err := module.Annotate(read.Wasm, m)
			if err != nil {
				return err
			}
			if err := os.WriteFile(output, annotated, 0o644); err != nil { //nolint:gosec // a module is no secret
				return fmt.Errorf("the module cannot be written: %w", err)
			}
			for _, field := range m.Unread() {
				fmt.Fprintf(s.Err, "%s: %s is not known; it is kept, and means nothing here\n", metadata, field)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&metadata, "metadata-path", "m", "", "metadata, as YAML or JSON")
	cmd.Flags().StringVarP(&output, "output-path", "o", "", "the file to write")
	return cmd
}
