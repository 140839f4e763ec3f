package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/cluster"
)

// peopleFlags are those of the commands that work as the user of a kubeconfig.
type peopleFlags struct {
	option.Live
	namespace string
}

func (f *peopleFlags) add(cmd *cobra.Command) {
	f.Live.Add(cmd, "the cluster, and who asks")
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace; that of the kubeconfig's context if not given")
}

// open gives a client that works as the user of the kubeconfig, and the
// namespace to work in.
func (f *peopleFlags) open(s Streams) (client.WithWatch, string, error) {
	if s.Cluster != nil {
		return s.Cluster, cmp.Or(f.namespace, "default"), nil
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
	return c, cmp.Or(f.namespace, namespace), nil
}
