package policyserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// Callers are what the servers let callers in by, as this Sallyport does: the CAs
// of client certificates in PEM, and a file of tokens. Both can be empty, but not
// both of them in a server that anybody can reach.
type Callers struct{ ClientCA, Tokens []byte }

// Options are what a Controller is made of.
type Options struct {
	Config *rest.Config
	Scheme *runtime.Scheme
	// Followed says how the kinds of ours are followed that it watches.
	Followed *ours.Kinds
	// Namespace is the one that servers run in.
	Namespace string
	// ClusterName is handed to the servers.
	ClusterName string
	// Observe has the servers judge and record, and refuse nothing.
	Observe bool
	// LetIn has what a server cannot be asked about let in, whatever policies say.
	LetIn bool
	// Callers reads what the servers let callers in by.
	Callers func() (*Callers, error)
	// Own is where API servers ask this Sallyport for the policies that it runs itself,
	// where webhooks are to be kept for these, whose caBundles trust this now; nil: none
	// are.
	Own func(trusted []byte) (*Target, error)
	// Here reports whether this Sallyport itself judges by a policy that names a server,
	// as no server does.
	Here func(stored.Ref) bool
	// Took reports whether this Sallyport judges by a policy that names this server, or
	// none: the module was loaded, or failed to be, and API servers ask about all that
	// the policy is about, where no webhooks of its own are kept.
	Took func(ref stored.Ref, server string) bool
	// Leads reports whether this replica is the one that writes.
	Leads func() bool
	Clock clock.WithTicker
	Log   logr.Logger
}

// Times of the controller.
const (
	// sweepEvery is how often everything is looked at without a change, and so the
	// longest time that something is other than it should be.
	sweepEvery = 5 * time.Second
	// soonEvery is how often it is looked at while something comes or goes.
	soonEvery = time.Second
	// drain is how long a server still knows a policy whose webhook is gone: an API
	// server may ask for a moment more.
	drain = 5 * time.Second
)

// Controller makes what PolicyServers run as, and tells what became of them and of
// the policies that they run.
type Controller struct {
	Options
	// objects reads policies and their servers from a watch, client everything else
	// as it is.
	objects client.Reader
	watch   cache.Cache
	client  client.Client
	changed notice.Notice

	// Of the replica that leads, and used by one sweep at a time: what was found
	// about versions of objects, and what is remembered of each server.
	verdicts map[types.UID]verdict
	seen     map[types.UID]*memory
	// ownGone is set once no webhooks of this Sallyport itself are there that are not
	// wanted.
	ownGone bool
	// took says since when this Sallyport judges by policies that some server has
	// webhooks for.
	took map[stored.Ref]time.Time
}

// memory is what is remembered of a server from one sweep to the next. All of it
// can be lost.
type memory struct {
	// put has what was written, by kind and name.
	put map[string]written
	// out is the file that every pod was last seen to have.
	out file
	// gone says since when webhooks are gone, by the ids of their policies.
	gone map[string]time.Time
	// removed is since when no webhook of a server that is being removed is there.
	removed time.Time
	// lacks is what the account of the server lacked at checked.
	account string
	lacks   []string
	checked time.Time
}

// written is an object as it was wanted and as it came to be.
type written struct{ wanted, version string }

// NewController makes a Controller. Nothing is sent before Run.
func NewController(o Options) (*Controller, error) {
	objects, err := o.Followed.Cache(o.Config, cache.Options{Scheme: o.Scheme})
	if err != nil {
		return nil, fmt.Errorf("the servers of policies cannot be watched: %w", err)
	}
	direct, err := client.New(pace.Few.Of(o.Config), client.Options{Scheme: o.Scheme})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	c := newController(o, objects, direct)
	c.watch = objects
	return c, nil
}

func newController(o Options, objects client.Reader, direct client.Client) *Controller {
	return &Controller{
		Options: o, objects: objects, client: direct, changed: notice.New(),
		verdicts: map[types.UID]verdict{}, seen: map[types.UID]*memory{}, took: map[stored.Ref]time.Time{},
	}
}

// Notice says that something has changed.
func (c *Controller) Notice() {
	c.changed.Give()
}

// Ready is always nil: no decision waits for the controller.
func (c *Controller) Ready() error { return nil }

// Run works until ctx ends. An API server that is away ends nothing.
func (c *Controller) Run(ctx context.Context) error {
	for _, kind := range []client.Object{&v1alpha1.PolicyServer{}, &v1alpha1.ClusterAdmissionPolicy{}, &v1alpha1.AdmissionPolicy{}} {
		informer, err := c.watch.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("the servers of policies cannot be watched: %w", err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { c.Notice() },
			UpdateFunc: func(any, any) { c.Notice() },
			DeleteFunc: func(any) { c.Notice() },
		}); err != nil {
			return fmt.Errorf("the servers of policies cannot be watched: %w", err)
		}
	}
	stopped := make(chan error, 1)
	go func() { stopped <- c.watch.Start(ctx) }()
	if c.watch.WaitForCacheSync(ctx) {
		c.work(ctx)
	}
	if err := <-stopped; err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// work sweeps after each change, and from time to time, while this replica leads.
func (c *Controller) work(ctx context.Context) {
	for {
		next := sweepEvery
		if c.Leads() {
			soon, err := c.Reconcile(ctx)
			if err != nil && ctx.Err() == nil {
				c.Log.Error(err, "the servers of policies could not be seen to; it is tried again")
			}
			if soon {
				next = soonEvery
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-c.Clock.After(next):
		case <-c.changed:
		}
	}
}

// Reconcile looks at everything once, and writes what has to change. It reports whether
// something is coming or going, so that it is to be looked at again soon.
func (c *Controller) Reconcile(ctx context.Context) (soon bool, err error) {
	w, err := c.read(ctx)
	if err != nil {
		return false, err
	}
	c.forget(w)
	errs := []error{c.wireOwn(ctx, w)}
	for _, s := range w.servers {
		again, err := c.reconcileServer(ctx, w, s)
		soon = soon || again
		errs = append(errs, err)
	}
	for _, p := range w.policies {
		if p.reason == "NoPolicyServer" {
			errs = append(errs, c.updatePolicyStatus(ctx, p, false, p.reason, p.problem))
		}
	}
	return soon, errors.Join(errs...)
}

func (c *Controller) remember(s *v1alpha1.PolicyServer) *memory {
	m := c.seen[s.UID]
	if m == nil {
		m = &memory{put: map[string]written{}, gone: map[string]time.Time{}}
		c.seen[s.UID] = m
	}
	return m
}
