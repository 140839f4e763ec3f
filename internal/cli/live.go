package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm/hostanswer"
)

// syncTimeout bounds how long a command waits for the RBAC objects of a cluster.
const syncTimeout = 30 * time.Second

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

// connect gives the cluster to judge against, and who is asked what users may
// do: the live one if one is named, else that of the files. stop ends what was
// started.
func (f *liveFlags) connect(ctx context.Context, policies *policySet) (state request.Cluster, authorizer request.Authorizer, stop func(), err error) {
	if !f.given() {
		return policies.cluster, policies.cluster, func() {}, nil
	}
	config, err := f.config()
	if err != nil {
		return nil, nil, nil, err
	}
	agent := cluster.WithUserAgent("sallyport/" + readVersion().Version)
	options := []cluster.Option{agent}
	if policies.set.NeedsPowers() {
		options = append(options, cluster.WithRBAC())
	}
	live, err := cluster.NewLive(config, options...)
	if err != nil {
		return nil, nil, nil, err
	}
	reviews, err := cluster.NewReviews(config, agent)
	if err != nil {
		return nil, nil, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- live.Run(running) }()
	stop = func() {
		cancel()
		<-ended
	}
	waiting, done := context.WithTimeout(ctx, syncTimeout)
	defer done()
	if err := live.WaitForSync(waiting); err != nil {
		stop()
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, nil, nil, fmt.Errorf("the cluster was not read within %s: %w", syncTimeout, err)
		}
		return nil, nil, nil, err
	}
	return live, reviews, stop, nil
}

// host gives what answers the reads of policies: the live cluster if one is named,
// asked for each of them, else the files.
func (f *liveFlags) host(policies *policySet, s Streams) (*contexthost.Host, error) {
	if !f.given() {
		return policies.host(s), nil
	}
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	rights, err := cluster.NewReviews(config)
	if err != nil {
		return nil, err
	}
	return contexthost.NewForCluster(config, contexthost.Options{Answers: hostanswer.Answers{Rights: rights, Resolver: net.DefaultResolver, Images: policies.images, Log: logs(s)}})
}
