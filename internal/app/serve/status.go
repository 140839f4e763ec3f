package serve

import (
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/controller/enforced"
	"github.com/sallyport-io/sallyport/internal/controller/leader"
	"github.com/sallyport-io/sallyport/internal/controller/policies"
	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// status makes what tells policies what became of them.
func (f *Flags) status(config *rest.Config, watch *policies.Watch, feed *policy.Feed, modules *servedModules, parts *enforced.Parts, inert *policies.Inert, hooks *webhooks.Controller, cannot func(stored.Ref, policy.Version, string), leads func() bool, log *slog.Logger) (*policies.Status, error) {
	writer, beside, err := statusWriters(config, leads)
	if err != nil {
		return nil, err
	}
	status := policies.NewStatus(policies.StatusOptions{
		Watch: watch, Feed: feed, Client: writer, Beside: beside, Leads: leads, Describe: modules.describe, Context: f.context.host.Conditions,
		Cannot: cannot, Enforced: parts.Condition, Inert: inert.Of,
		Clock: clock.RealClock{}, Log: logr.FromSlogHandler(log.Handler()).WithName("policies"),
	})
	inert.Changed = status.Touch
	modules.OnChange(status.Retell)
	modules.store.Apart(status.Retell)
	f.context.host.OnState(status.Retell)
	return status, nil
}

// statusWriters write the status of policies: as the leader, and only while this replica
// is that, and beside it.
func statusWriters(config *rest.Config, leads func() bool) (writer, beside client.Client, err error) {
	config = pace.Status.Of(config)
	if writer, err = client.New(leader.Only(config, leads), client.Options{}); err == nil {
		beside, err = client.New(config, client.Options{})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	return writer, beside, nil
}
