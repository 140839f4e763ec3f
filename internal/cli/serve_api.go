package cli

import (
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/controller/policies"
	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
	"github.com/sallyport-io/sallyport/internal/guest"
	"github.com/sallyport-io/sallyport/internal/policy"
)

// policiesOf makes what takes policies from an API server, and what writes there what
// becomes of them. leads reports whether this replica is the one that writes.
func (f *serveFlags) policiesOf(config *rest.Config, store *policy.Store, modules *moduleHost, log *slog.Logger) (sources []policySource, leads func() bool, err error) {
	feed := policy.NewFeed(store)
	watch, err := policies.NewWatch(config, feed, logr.FromSlogHandler(log.Handler()), f.known.judgedBy(), policy.Kinds())
	if err != nil {
		return nil, nil, err
	}
	watch.Expect()
	f.known.book.Add(inForce, once(watch.Ready))
	elsewhere := f.hosting.elsewhere
	read := watch.Synced
	if elsewhere != nil {
		f.known.book.Add("webhooks of PolicyServers", once(elsewhere.Ready))
		read = func() bool { return watch.Synced() && elsewhere.Ready() == nil }
	}
	modules.read = read
	controller, err := f.workflow(config, store, log)
	if err != nil {
		return nil, nil, err
	}
	watch.OnReload(controller.Notice)
	leads = controller.Leads
	hooks, err := f.webhooks.controller(config, store, read, func(p *guest.Policy) bool { return f.hosting.own == "" && modules.Hosts(p) }, leads, log)
	if err != nil {
		return nil, nil, err
	}
	watch.OnReload(hooks.Notice)
	status, err := f.status(config, watch, feed, describing(modules.describe, hooks.Asked), modules, leads, log)
	if err != nil {
		return nil, nil, err
	}
	hooks.Changed = status.Retell
	if elsewhere != nil {
		elsewhere.Changed = func() {
			modules.want()
			f.context.keep(store)
			hooks.Notice()
			status.Retell()
		}
		sources = append(sources, elsewhere)
	}
	f.hosting.took = func(ref policy.PolicyRef, server string) bool {
		asked, known := hooks.Asked(ref)
		// Webhooks of its own are looked at by whoever keeps them.
		return modules.took(ref, server) && (f.hosting.own != "" || known && webhooks.AsksAll(asked))
	}
	controller.OnLead(func() {
		status.Retell()
		hooks.Notice()
	})
	further, err := f.clusters.informer(config, leads, f.known.judgedBy())
	if err != nil {
		return nil, nil, err
	}
	sources = append(append(sources, watch, status, hooks, controller), f.breakglass.sources()...)
	return append(sources, further), leads, nil
}
