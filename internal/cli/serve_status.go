package cli

import (
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/controller/policies"
	"github.com/sallyport-io/sallyport/internal/policy"
)

// Writes of statuses a second, and how many may come at once: a thousand policies
// are told of in under a minute, and the API server has better things to do.
const (
	statusQPS   = 25
	statusBurst = 50
	// Of exceptions there are ten times as many.
	exceptionQPS   = 100
	exceptionBurst = 100
)

// pacedFor is a configuration for a client that asks at most so often.
func pacedFor(config *rest.Config, qps float32, burst int) *rest.Config {
	paced := rest.CopyConfig(config)
	paced.QPS, paced.Burst, paced.RateLimiter = qps, burst, nil
	return paced
}

// status makes what tells policies what became of them.
func (f *serveFlags) status(config *rest.Config, watch *policies.Watch, feed *policy.Feed, describe func(policy.PolicyRef) policy.Description, modules *moduleHost, leads func() bool, log *slog.Logger) (*policies.Status, error) {
	writer, err := client.New(pacedFor(config, statusQPS, statusBurst), client.Options{})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	status := policies.NewStatus(policies.StatusOptions{
		Watch: watch, Feed: feed, Client: writer, Leads: leads, Describe: describe, Context: f.context.host.Conditions,
		Clock: clock.RealClock{}, Log: logr.FromSlogHandler(log.Handler()).WithName("policies"),
	})
	modules.tell(status.Retell)
	f.context.host.OnState(status.Retell)
	return status, nil
}
