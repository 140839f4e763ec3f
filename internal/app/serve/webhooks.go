package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	metadataclient "k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/controller/leader"
	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
	feeds "github.com/sallyport-io/sallyport/internal/watch/follow"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// webhookFlags are about the webhooks by which API servers ask about what policies are
// about.
type webhookFlags struct {
	mode, name    string
	failurePolicy string
	shipped       shippedFlags
}

// What webhooks that Sallyport writes do with what it cannot be asked about.
const (
	failurePolicyOfPolicies = "Policy"
	failurePolicyIgnore     = "Ignore"
)

// What is done with webhooks.
const (
	webhooksAll    = "all"
	webhooksFollow = "follow"
	webhooksStatic = "static"
)

func (f *webhookFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.mode, "webhooks", webhooksFollow, "follow: the webhooks of the configurations NAME-rules are kept to what policies are about, where these are installed; all: those that are shipped are kept in the configurations NAME as well, see --service; static: nothing is written, and what no webhook asks about is said")
	flags.StringVar(&f.failurePolicy, "webhook-failure-policy", failurePolicyOfPolicies, "Policy: the webhooks that are kept refuse what Sallyport cannot be asked about, where the policies say so; Ignore: they let it in")
	flags.StringVar(&f.name, "webhook-configuration", "sallyport", "NAME of the webhook configurations that lead to this Sallyport")
	f.shipped.add(cmd)
}

func (f *webhookFlags) check() error {
	switch {
	case f.mode != webhooksAll && f.mode != webhooksFollow && f.mode != webhooksStatic:
		return usage.Errorf("--webhooks is %q; %s, %s or %s is expected", f.mode, webhooksAll, webhooksFollow, webhooksStatic)
	case f.failurePolicy != failurePolicyOfPolicies && f.failurePolicy != failurePolicyIgnore:
		return usage.Errorf("--webhook-failure-policy is %q; %s or %s is expected", f.failurePolicy, failurePolicyOfPolicies, failurePolicyIgnore)
	case f.name == "":
		return usage.Errorf("--webhook-configuration is empty; the name of a ValidatingWebhookConfiguration is expected")
	}
	return f.shipped.check(f.mode == webhooksAll)
}

// letsIn reports whether what Sallyport cannot be asked about is let in, whatever policies
// say.
func (f *webhookFlags) letsIn() bool { return f.failurePolicy == failurePolicyIgnore }

// controller makes what keeps the webhooks. here reports whether a policy is asked about
// at this Sallyport's own doors by webhooks that follow policies.
func (f *webhookFlags) controller(config *rest.Config, store *policy.Store, synced func() bool, followed func(resource string) feeds.Options, here func(*runner.Policy) bool, leads func() bool, observe bool, log *slog.Logger) (*webhooks.Controller, error) {
	watches := pace.Watches.Of(config)
	config = pace.Webhooks.Of(leader.Only(config, leads))
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	asked, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	changes, err := metadataclient.NewForConfig(watches)
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	return webhooks.New(webhooks.Options{
		Client: client, Discovery: asked, Set: store.Set, Synced: synced, Here: here, Leads: leads,
		Aggregated: func(ctx context.Context) (map[schema.GroupVersion]string, error) {
			return webhooks.Aggregated(ctx, client.Discovery().RESTClient())
		},
		Name: f.name, Namespace: podNamespace(), Static: f.mode == webhooksStatic, Observe: observe, LetIn: f.letsIn(),
		Watch: func(ctx context.Context, notice func()) { webhooks.Watch(ctx, changes, followed, notice) },
		Clock: clock.RealClock{}, Log: logr.FromSlogHandler(log.Handler()).WithName("webhooks"),
	}), nil
}
