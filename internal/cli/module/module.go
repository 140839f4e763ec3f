package module

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
)

// Command makes the command policy, with all that is below it.
func Command(s command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "policy", Short: "Work with policies that are Wasm modules", Args: command.NoCommand,
		Long: `Policy works with a policy that is a Wasm module, as its author or whoever deploys
it does: say what it is, write its metadata into it, have it judge a request, and
write the policy that deploys it.
MODULE is a file, or an address: file://, https:// or registry://.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyRun(s), newPolicyInspect(s), newPolicyAnnotate(s), newPolicyScaffold(s))
	return cmd
}

// readModule reads a module from a file or an address.
func readModule(ctx context.Context, name string) (*fetch.Module, error) {
	return readModuleWith(ctx, name, nil)
}

// readModuleWith is readModule for registries that want credentials.
func readModuleWith(ctx context.Context, name string, credential auth.CredentialFunc) (*fetch.Module, error) {
	if strings.Contains(name, "://") {
		return fetch.New(fetch.Options{Credential: credential}).Fetch(ctx, name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("the module cannot be read: %w", err)
	}
	if info.Size() > fetch.DefaultMaxBytes {
		return nil, fmt.Errorf("the module %s has %d bytes; at most %d are read", name, info.Size(), fetch.DefaultMaxBytes)
	}
	wasm, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("the module cannot be read: %w", err)
	}
	return &fetch.Module{Wasm: wasm, Digest: fetch.DigestOf(wasm)}, nil
}

// oneModule wants one argument.
func oneModule(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage.Errorf("one MODULE is expected: a file, or an address such as registry://ghcr.io/org/policy:v1")
	}
	return nil
}
