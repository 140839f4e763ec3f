package serve

import (
	"context"
	"log/slog"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/controller/enforced"
	"github.com/sallyport-io/sallyport/internal/controller/leader"
	"github.com/sallyport-io/sallyport/internal/controller/policies"
	"github.com/sallyport-io/sallyport/internal/controller/reached"
	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/observe/garbage"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// policiesOf makes what takes policies from an API server, and what writes there what
// becomes of them. leads reports whether this replica is the one that writes.
func (f *Flags) policiesOf(config *rest.Config, store *policy.Store, modules *servedModules, live *clusterSource, log *slog.Logger) (sources []policySource, leads func() bool, err error) {
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
	sweeper := garbage.NewSweeper(clock.RealClock{})
	watch.OnReload(sweeper.Used)
	watch.OnTouch(func(policies.Key) { sweeper.Used() })
	parts := &enforced.Parts{Observe: f.server.Observe}
	// What the one that leads does is made before the election that it is to win.
	var election *leader.Election
	leads = func() bool { return election.Leads() }
	controller, err := f.workflow(config, store, parts, leads, log)
	if err != nil {
		return nil, nil, err
	}
	watch.OnReload(controller.Notice)
	if election, err = f.election(config, controller, log); err != nil {
		return nil, nil, err
	}
	hooks, err := f.webhooks.controller(config, store, read, f.known.workedOn().Beside, func(p *runner.Policy) bool { return f.hosting.own == "" && modules.Hosts(p) }, leads, f.server.Observe, log)
	if err != nil {
		return nil, nil, err
	}
	watch.OnReload(hooks.Notice)
	if err := f.openCertificate(config, log); err != nil {
		return nil, nil, err
	}
	beside, err := f.replicas(config, watch, leads, log)
	if err != nil {
		return nil, nil, err
	}
	watch.OnReload(beside.Notice)
	authorizer, canary, err := f.reached(config, beside.Word(), leads, log)
	if err != nil {
		return nil, nil, err
	}
	authorizer.Changed, hooks.Authorizer = hooks.Notice, authorizer
	keeper, err := f.keepShipped(config, leads, canary.Answered, log)
	if err != nil {
		return nil, nil, err
	}
	hooks.Shipped, f.webhooks.shipped.keeper = keeper, keeper
	parts.Asked, parts.Reached, parts.InForce = hooks.Asked, canary.Reached, beside.InForce
	f.server.Probe = func(r *request.Request) (string, bool) { return reached.Answer(r, beside.Asks) }
	f.surveying = surveying{parts, beside, store, leads}
	inert := &policies.Inert{Set: store.Set, Read: read, Namespaces: f.clusters.namespaces(live.cluster.Namespaces), Unguarded: hooks.Unguarded, Clock: clock.RealClock{}}
	status, err := f.status(config, watch, feed, modules, parts, inert, hooks, beside.Cannot, leads, log)
	if err != nil {
		return nil, nil, err
	}
	hooks.Changed = status.Touch
	store.Foresee(hooks.Foresee)
	beside.Touch = func(refs []stored.Ref) {
		status.Touch(refs)
		if slices.ContainsFunc(refs, func(ref stored.Ref) bool { return exception.InWorkflow(ref.Kind) }) {
			controller.Notice()
		}
	}
	beside.Changed = func() {
		status.Retell()
		controller.Notice()
	}
	canary.Changed = func() {
		beside.Changed()
		// What is shipped may wait for it.
		hooks.Notice()
	}
	watching := hooks.Watch
	hooks.Watch = func(ctx context.Context, notice func()) {
		watching(ctx, func() {
			notice()
			canary.Notice()
			if f.certificate.keeper != nil {
				f.certificate.keeper.Notice()
			}
		})
		f.hosting.watchCA(ctx, clock.RealClock{}, notice)
	}
	if f.certificate.keeper != nil {
		sources = append(sources, f.certificate.keeper)
	}
	if elsewhere != nil {
		elsewhere.Changed = func() {
			modules.want()
			f.context.keep(store)
			hooks.Notice()
			status.Retell()
		}
		sources = append(sources, elsewhere)
	}
	f.hosting.took = func(ref stored.Ref, server string) bool {
		asked, known := hooks.Asked(ref, store.Set().VersionOf(ref))
		// Webhooks of its own are looked at by whoever keeps them.
		return modules.took(ref, server) && (f.hosting.own != "" || known && webhooks.AsksAll(asked))
	}
	election.OnLead(func() {
		status.Retell()
		hooks.Notice()
		canary.Notice()
		f.scan.led()
	})
	further, err := f.clusters.informer(config, leads, f.known.judgedBy())
	if err != nil {
		return nil, nil, err
	}
	sources = append(append(sources, watch, status, inert, hooks, authorizer, canary, beside, controller, election, sweeper), f.breakglass.sources()...)
	return append(sources, further), leads, nil
}
