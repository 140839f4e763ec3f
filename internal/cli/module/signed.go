package module

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm/hostanswer"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
)

// signedFlags say who must have signed a module.
type signedFlags struct {
	keys, annotations []string
	email, issuer     string
	owner, repository string
}

func (f *signedFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.keys, "verification-key", "k", nil, "public key that the module must be signed with: a file (repeatable)")
	flags.StringArrayVarP(&f.annotations, "verification-annotation", "a", nil, "annotation, as KEY=VALUE, that was signed along with the module (repeatable)")
	flags.StringVar(&f.email, "cert-email", "", "who must have signed the module, where it is signed without a key")
	flags.StringVar(&f.issuer, "cert-oidc-issuer", "", "who must have vouched for --cert-email")
	flags.StringVar(&f.owner, "github-owner", "", "owner on GitHub whose workflow must have signed the module")
	flags.StringVar(&f.repository, "github-repo", "", "repository of --github-owner")
}

// demands are the verifications that are asked for.
func (f *signedFlags) demands() ([]*hostcall.Verify, error) {
	annotations := map[string]string{}
	for _, pair := range f.annotations {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usage.Errorf("--verification-annotation: %q is not KEY=VALUE", pair)
		}
		annotations[name] = value
	}
	var demands []*hostcall.Verify
	if len(f.keys) > 0 {
		v := &hostcall.Verify{Type: hostcall.PubKey}
		for _, file := range f.keys {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("--verification-key: the key cannot be read: %w", err)
			}
			v.PubKeys = append(v.PubKeys, string(text))
		}
		demands = append(demands, v)
	}
	if (f.email == "") != (f.issuer == "") {
		return nil, usage.Errorf("--cert-email and --cert-oidc-issuer belong together")
	}
	if f.email != "" {
		demands = append(demands, &hostcall.Verify{Type: hostcall.KeylessExact, Keyless: []hostcall.Keyless{{Issuer: f.issuer, Subject: f.email}}})
	}
	if f.repository != "" && f.owner == "" {
		return nil, usage.Errorf("--github-repo needs --github-owner")
	}
	if f.owner != "" {
		demands = append(demands, &hostcall.Verify{Type: hostcall.GithubActions, Owner: f.owner, Repo: f.repository})
	}
	if len(demands) == 0 && len(annotations) > 0 {
		return nil, usage.Errorf("--verification-annotation needs somebody who signed, such as a --verification-key")
	}
	for _, v := range demands {
		v.Annotations = annotations
	}
	return demands, nil
}

// check makes sure that a module which was fetched is signed as the flags ask for.
func (f *signedFlags) check(ctx context.Context, registries hostanswer.Images, address string, got *fetch.Module) error {
	demands, err := f.demands()
	if err != nil || len(demands) == 0 {
		return err
	}
	if got.Artifact == "" {
		return fmt.Errorf("%s is in no registry, and so has no signatures to verify", address)
	}
	for _, v := range demands {
		v.Image = strings.TrimPrefix(address, "registry://")
		answer, err := registries.Verify(ctx, v)
		if err != nil {
			return fmt.Errorf("the module was not run: %w", err)
		}
		var verified struct {
			Digest string `json:"digest"`
		}
		if err := json.Unmarshal(answer, &verified); err != nil || verified.Digest != got.Artifact {
			return fmt.Errorf("the module was not run: what is signed is %s, and what was fetched is %s", verified.Digest, got.Artifact)
		}
	}
	return nil
}
