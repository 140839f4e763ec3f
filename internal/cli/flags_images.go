package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/spf13/cobra"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/sallyport-io/sallyport/internal/images"
)

// imageFlags say how registries are read where policies ask about images.
type imageFlags struct {
	private, plain []string
	trustedRoot    string
	registryConfig string
}

func (f *imageFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.private, "private-registry", nil, "registry, as HOST or HOST:PORT, that policies may ask about images at an address that is not public (repeatable)")
	flags.StringSliceVar(&f.plain, "insecure-registry", nil, "such a registry that is spoken to without TLS (repeatable)")
	flags.StringVar(&f.trustedRoot, "sigstore-trusted-root", "", "root of trust for signatures without keys: a file, as 'cosign trusted-root create' writes it")
	flags.StringVar(&f.registryConfig, "docker-config-json-path", "", "credentials for registries: the config.json that docker login writes, or its directory")
}

// registries makes what answers policies about images.
func (f *imageFlags) registries() (*images.Registries, error) {
	o := images.Options{Private: f.private, PlainHTTP: f.plain}
	for flag, list := range map[string][]string{"private-registry": f.private, "insecure-registry": f.plain} {
		for _, host := range list {
			if host == "" || strings.ContainsAny(host, "/ *") {
				return nil, usagef("--%s: %q is no HOST or HOST:PORT", flag, host)
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
	credential, err := f.credential()
	if err != nil {
		return nil, err
	}
	o.Credential = credential
	return images.New(o), nil
}

// credential reads the credentials for registries; nil for none.
func (f *imageFlags) credential() (auth.CredentialFunc, error) {
	path := f.registryConfig
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, "config.json")
		_, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("--docker-config-json-path: the credentials cannot be read: %w", err)
	}
	store, err := credentials.NewFileStore(path)
	if err != nil {
		return nil, fmt.Errorf("--docker-config-json-path: the credentials cannot be read: %w", err)
	}
	return credentials.Credential(store), nil
}
