package option

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Live are the flags that name a cluster, as kubectl does.
type Live struct {
	kubeconfig string
	context    string
}

// Add adds the flags. what says what the cluster is for.
func (f *Live) Add(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file: "+what)
	cmd.Flags().StringVar(&f.context, "context", "", "context of the kubeconfig: "+what)
}

// Given reports whether a cluster is named.
func (f *Live) Given() bool { return f.kubeconfig != "" || f.context != "" }

// Config reads the configuration of the client. With no file named it is found
// as kubectl finds it.
func (f *Live) Config() (*rest.Config, error) {
	config, err := f.Loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w", err)
	}
	return config, nil
}

// Loader finds the kubeconfig.
func (f *Live) Loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
}
