package module

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
)

// annotateFlags are the flags of policy annotate.
type annotateFlags struct{ metadata, usage, output string }

func newPolicyAnnotate(s command.Streams) *cobra.Command {
	f := &annotateFlags{}
	cmd := &cobra.Command{
		Use: "annotate MODULE -m METADATA -o FILE", Short: "Write metadata into a module",
		Long: `Annotate writes the metadata of a YAML or JSON file into a module, in place of what
it had: which requests it is for, whether it changes them, and what it asks to
read. How the module is to be run is filled in where the metadata does not say.
Nothing is written if the metadata cannot be right.`,
		Example: "  sallyport policy annotate policy.wasm -m metadata.yml -u README.md -o annotated-policy.wasm",
		Args:    oneModule,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args[0]) },
	}
	cmd.Flags().StringVarP(&f.metadata, "metadata-path", "m", "", "metadata, as YAML or JSON")
	cmd.Flags().StringVarP(&f.usage, "usage-path", "u", "", "text on how the policy is used, such as its README, that is kept in the metadata")
	cmd.Flags().StringVarP(&f.output, "output-path", "o", "", "the file to write")
	return cmd
}

func (f *annotateFlags) run(cmd *cobra.Command, s command.Streams, name string) error {
	if f.metadata == "" || f.output == "" {
		return usage.Errorf("give the metadata with -m, and the file to write with -o")
	}
	read, err := readModule(cmd.Context(), name)
	if err != nil {
		return err
	}
	kind, err := wasm.Detect(read.Wasm)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(f.metadata)
	if err != nil {
		return fmt.Errorf("the metadata cannot be read: %w", err)
	}
	m, err := module.ReadYAML(text)
	if err == nil {
		err = fit(m, text, kind)
	}
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.metadata, err)
	}
	if f.usage != "" {
		usage, err := os.ReadFile(f.usage)
		if err != nil {
			return fmt.Errorf("the text on usage cannot be read: %w", err)
		}
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[usageAnnotation] = string(usage)
	}
	annotated, err := module.Annotate(read.Wasm, m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.output, annotated, 0o644); err != nil { //nolint:gosec // a module is not a secret
		return fmt.Errorf("the module cannot be written: %w", err)
	}
	for _, field := range m.Unread() {
		fmt.Fprintf(s.Err, "%s: %s is not known; it is kept, and means nothing here\n", f.metadata, field)
	}
	return nil
}

const usageAnnotation = "io.kubewarden.policy.usage"

// fit holds how the metadata says that the module is run to what the module is, and
// fills in what it does not say.
func fit(m *module.Metadata, text []byte, kind wasm.Kind) error {
	var said struct {
		Mode *string `json:"executionMode"`
	}
	if err := yaml.Unmarshal(text, &said); err != nil {
		return fmt.Errorf("the metadata is not YAML: %w", err)
	}
	if said.Mode == nil && kind != wasm.KindWaPC {
		if m.ExecutionMode = ""; kind == wasm.KindWASI {
			m.ExecutionMode = module.WASI
		}
	}
	if err := fits(kind, m.ExecutionMode); err != nil {
		return fmt.Errorf("executionMode: %w", err)
	}
	if m.ProtocolVersion == "" {
		m.ProtocolVersion = "Unknown"
		if kind == wasm.KindWaPC {
			m.ProtocolVersion = wasm.ProtocolV1
		}
	}
	return nil
}
