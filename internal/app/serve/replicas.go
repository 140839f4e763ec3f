package serve

import (
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/controller/policies"
	"github.com/sallyport-io/sallyport/internal/controller/replicas"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// replicas makes what says what this replica has in force, and compares it with what
// others have.
func (f *Flags) replicas(config *rest.Config, watch *policies.Watch, leads func() bool, log *slog.Logger) (*replicas.Replicas, error) {
	client, err := kubernetes.NewForConfig(pace.Replicas.Of(config))
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	var shows func() string
	if f.certificate.keeper != nil {
		shows = f.certificate.keeper.Shows
	}
	return replicas.New(replicas.Options{
		Client: client, Namespace: f.flow.namespace(), Installation: f.webhooks.name, Identity: f.flow.identity, Place: f.flow.host + " " + f.server.Addr,
		Staleness: f.known.staleness, Objects: watch.InForce, Leads: leads, Observe: f.server.Observe, Shows: shows,
		Ready: f.known.all,
		Line:  &f.known.line, Clock: clock.RealClock{}, Log: logr.FromSlogHandler(log.Handler()).WithName("replicas"),
	}), nil
}
