package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// liveFlags name a cluster as kubectl does.
type liveFlags struct {
	kubeconfig string
	context    string
}

func (f *liveFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file: "+what)
	cmd.Flags().StringVar(&f.context, "context", "", "context of the kubeconfig: "+what)
}

// given reports whether a cluster is named.
func (f *liveFlags) given() bool { return f.kubeconfig != "" || f.context != "" }

// config reads the configuration of the client. With no file named it is found
// as kubectl finds it.
func (f *liveFlags) config() (*rest.Config, error) {
	config, err := f.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w", err)
	}
	return config, nil
}

// loader finds the kubeconfig.
func (f *liveFlags) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
}
