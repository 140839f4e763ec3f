package command

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/cluster"
)

// AsUser are the flags of the commands that work as the user of a kubeconfig.
type AsUser struct {
	option.Live
	// Namespace is the one that was named; empty for that of the kubeconfig.
	Namespace string
}

// Add adds the flags.
func (f *AsUser) Add(cmd *cobra.Command) {
	f.Live.Add(cmd, "the cluster, and who asks")
	cmd.Flags().StringVarP(&f.Namespace, "namespace", "n", "", "namespace; that of the kubeconfig's context if not given")
}

// Open gives a client that works as the user of the kubeconfig, and the
// namespace to work in.
func (f *AsUser) Open(s Streams) (client.WithWatch, string, error) {
	if s.Cluster != nil {
		return s.Cluster, cmp.Or(f.Namespace, "default"), nil
	}
	loader := f.Loader()
	config, err := loader.ClientConfig()
	namespace := ""
	if err == nil {
		namespace, _, err = loader.Namespace()
	}
	if err != nil {
		return nil, "", fmt.Errorf("the kubeconfig cannot be used: %w", err)
	}
	config.WarningHandler = rest.NewWarningWriter(s.Err, rest.WarningWriterOptions{Deduplicate: true})
	scheme, err := cluster.NewScheme()
	if err != nil {
		return nil, "", err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, "", fmt.Errorf("no client for the API server could be made: %w", err)
	}
	return c, cmp.Or(f.Namespace, namespace), nil
}
