package module

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
)

// policyScaffoldFlags are the flags of policy scaffold.
type policyScaffoldFlags struct {
	settingsFlags
	kind, namespace string
	name, title     string
	server          string
	contextAware    bool
}

func newPolicyScaffold(s command.Streams) *cobra.Command {
	f := &policyScaffoldFlags{}
	cmd := &cobra.Command{
		Use: "scaffold MODULE", Short: "Write the policy that deploys a module",
		Long: `Scaffold writes a ClusterAdmissionPolicy, or an AdmissionPolicy, for a module, from
what the module's metadata says: which requests it is for, whether it changes them,
and what it asks to read. A module in a registry is pinned to its digest.

What the module asks to read stands there commented out, with what each grant lets
it see. --allow-context-aware writes the grants as they are asked for. An
AdmissionPolicy reads nothing, so a module that asks to cannot be one.`,
		Example: `  sallyport policy scaffold registry://ghcr.io/org/policy:v1 > policy.yaml
  sallyport policy scaffold -t AdmissionPolicy -n shop registry://ghcr.io/org/policy:v1`,
		Args: oneModule,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			settings, err := f.settingsFlags.read()
			if err != nil {
				return err
			}
			read, err := readModule(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return f.write(s, args[0], read, settings)
		},
	}
	f.settingsFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.kind, "type", "t", stored.KindClusterAdmissionPolicy, "ClusterAdmissionPolicy or AdmissionPolicy")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of an AdmissionPolicy (default)")
	flags.StringVar(&f.name, "name", "", "name of the policy (the title in the metadata)")
	flags.StringVar(&f.title, "title", "", "the same as --name")
	flags.StringVar(&f.server, "policy-server", "", "PolicyServer that is to host the policy (Sallyport itself)")
	flags.BoolVar(&f.contextAware, "allow-context-aware", false, "grant the module what its metadata asks to read")
	return cmd
}

// check says what is wrong with the flags, and fills in what is not given.
func (f *policyScaffoldFlags) check() error {
	switch {
	case f.kind != stored.KindClusterAdmissionPolicy && f.kind != stored.KindAdmissionPolicy:
		return usage.Errorf("there is no type %q; there are %s and %s", f.kind, stored.KindClusterAdmissionPolicy, stored.KindAdmissionPolicy)
	case f.name != "" && f.title != "" && f.name != f.title:
		return usage.Errorf("the policy has one name; give one of --name and --title")
	case f.namespace != "" && f.kind == stored.KindClusterAdmissionPolicy:
		return usage.Errorf("a %s has no namespace; leave -n out, or write -t %s", f.kind, stored.KindAdmissionPolicy)
	case f.contextAware && f.kind == stored.KindAdmissionPolicy:
		return usage.Errorf("an %s reads nothing of the cluster, so nothing can be granted to it; leave --allow-context-aware out", f.kind)
	}
	if f.name == "" {
		f.name = f.title
	}
	if f.name != "" {
		if wrong := validation.IsDNS1123Subdomain(f.name); wrong != nil {
			return usage.Errorf("%q is not the name of a policy: %s", f.name, strings.Join(wrong, "; "))
		}
	}
	if f.namespace == "" && f.kind == stored.KindAdmissionPolicy {
		f.namespace = "default"
	}
	return nil
}

// write writes the policy for a module that was read from an address.
func (f *policyScaffoldFlags) write(s command.Streams, address string, read *fetch.Module, settings json.RawMessage) error {
	kind, err := wasm.Detect(read.Wasm)
	if err != nil {
		return err
	}
	m, err := module.Read(read.Wasm)
	switch {
	case err != nil:
		return err
	case m == nil:
		return errors.New("the module has no metadata, so what it is for is not known; 'sallyport policy annotate' writes it")
	}
	if err := m.Check(); err != nil {
		return fmt.Errorf("the module's metadata cannot be used: %w", err)
	}
	if m.PolicyType != module.Kubernetes {
		return fmt.Errorf("the module is for requests of the type %q, and not for those of Kubernetes; 'sallyport policy run --raw' has it judge one", m.PolicyType)
	}
	declared := m.Declared()
	if len(declared) > 0 && f.kind == stored.KindAdmissionPolicy {
		return fmt.Errorf("the module asks to read %s, and an %s reads nothing of the cluster: whoever may write one could otherwise read what the server may; write -t %s", namesOfGrants(declared), f.kind, stored.KindClusterAdmissionPolicy)
	}
	if address, err = deployed(address, read); err != nil {
		return err
	}
	manifest := &scaffolded{policyScaffoldFlags: f, address: address, digest: read.Digest, runtime: kind.String(), metadata: m, settings: settings}
	text, err := manifest.text()
	if err != nil {
		return err
	}
	if problems := compiles(text); len(problems) > 0 {
		return fmt.Errorf("the policy would not work: %w", problems)
	}
	if _, err := s.Out.Write(text); err != nil {
		return fmt.Errorf("the policy cannot be written: %w", err)
	}
	switch {
	case len(declared) > 0 && f.contextAware:
		fmt.Fprintf(s.Err, "The policy lets its module read %s. Look at each grant before you deploy it.\n", namesOfGrants(declared))
	case len(declared) > 0:
		fmt.Fprintf(s.Err, "The module asks to read %s, and nothing is granted to it yet: take the grants that you agree to out of their comments.\n", namesOfGrants(declared))
	}
	return nil
}

// deployed is the address under which a server gets the module: that of a registry
// with its digest, and that of a file with its whole path.
func deployed(address string, read *fetch.Module) (string, error) {
	switch {
	case read.Artifact != "" && !strings.Contains(address, "@"):
		return address + "@" + read.Artifact, nil
	case strings.Contains(address, "://"):
		return address, nil
	}
	whole, err := filepath.Abs(address)
	if err != nil {
		return "", fmt.Errorf("the path of the module is not known: %w", err)
	}
	return "file://" + filepath.ToSlash(whole), nil
}

// compiles says what is wrong with a policy that was written.
func compiles(text []byte) stored.Problems {
	found := load.Collect(load.Parse("the policy", text))
	if len(found.Problems) > 0 {
		return found.Problems
	}
	_, problems := policy.Compile(found.Sources, pod.Default(), exception.Options{})
	return problems
}
