package option

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/spf13/cobra"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/wasm/images"
)

// Images are the flags that say how registries are read where policies ask about images.
type Images struct {
	private, plain []string
	trustedRoot    string
}

// Add adds the flags.
func (f *Images) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.private, "private-registry", nil, "registry, as HOST or HOST:PORT, that policies may ask about images at an address that is not public (repeatable)")
	flags.StringSliceVar(&f.plain, "insecure-registry", nil, "such a registry that is spoken to without TLS (repeatable)")
	flags.StringVar(&f.trustedRoot, "sigstore-trusted-root", "", "root of trust for signatures without keys: a file, as 'cosign trusted-root create' writes it")
}

// Registries makes what answers policies about images. credential may be nil.
func (f *Images) Registries(credential auth.CredentialFunc) (*images.Registries, error) {
	o := images.Options{Private: f.private, PlainHTTP: f.plain, Credential: credential}
	for flag, list := range map[string][]string{"private-registry": f.private, "insecure-registry": f.plain} {
		for _, host := range list {
			if host == "" || strings.ContainsAny(host, "/ *") {
				return nil, usage.Errorf("--%s: %q is not HOST or HOST:PORT", flag, host)
			}
		}
	}
	if f.trustedRoot != "" {
		trusted, err := root.NewTrustedRootFromPath(f.trustedRoot)
		if err != nil {
			return nil, fmt.Errorf("--sigstore-trusted-root: %s cannot be read: %w", f.trustedRoot, err)
		}
		o.TrustedRoot = trusted
	}
	return images.New(o), nil
}

// RegistryCredential reads the credentials for registries from a file, or from
// config.json in a directory; nil for none.
func RegistryCredential(flag, path string) (auth.CredentialFunc, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "config.json")
	}
	if _, err := os.Stat(path); err != nil {
		// Without this, a wrong path would be a file without credentials.
		return nil, fmt.Errorf("--%s: the credentials cannot be read: %w", flag, err)
	}
	store, err := credentials.NewFileStore(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: the credentials cannot be read: %w", flag, err)
	}
	return credentials.Credential(store), nil
}
