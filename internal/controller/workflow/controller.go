package workflow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/controller/leader"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
	"github.com/sallyport-io/sallyport/internal/watch/notice"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// Options are what a Controller is made of.
type Options struct {
	Config *rest.Config
	Scheme *runtime.Scheme
	// Followed says how the kinds of ours are followed that it watches.
	Followed *ours.Kinds
	// Set is the set of policies and exceptions in force.
	Set func() *policy.Set
	// Ledger has the uses that this replica counted.
	Ledger *exception.Ledger
	// Leads reports whether this replica is the one that writes what is not its own count.
	Leads func() bool
	Clock clock.WithTicker
	Log   logr.Logger
	// UnusedAfter is how long an exception is not used before it says so.
	UnusedAfter time.Duration
	// Retention is how long what is expired or stale is kept; zero: forever.
	Retention time.Duration
	// Enforced is the condition Enforced of a version of an exception; false where it
	// cannot be said yet. Nil for never.
	Enforced func(ref stored.Ref, version policy.Version, works bool) (metav1.Condition, bool)
	// Breakglass is about sessions.
	Breakglass BreakglassOptions
}

// Times of the controller.
const (
	// sweepEvery is how often is looked without a change: exceptions expire on their
	// own.
	sweepEvery = 5 * time.Second
	// flushEvery is how often uses are written, so that no request waits for it and
	// an exception in constant use costs one write a minute.
	flushEvery = time.Minute
	// lastFlush bounds what is written of them when a replica ends.
	lastFlush = 2 * time.Second
)

// Controller carries out the workflow: it tells requests what became of them,
// says which exceptions are in force, approves what may be approved automatically
// and removes what is over. What is granted never waits for it: decisions go by
// requests and responses themselves.
type Controller struct {
	Options
	objects cache.Cache
	client  client.Client
	// direct reads the API server, and not what is watched. Like client it writes only
	// while this replica leads.
	direct client.Client
	// counts writes what every replica counted.
	counts  client.Client
	changed notice.Notice
	// behind is set where something was not written as it had changed since it was read.
	behind   atomic.Bool
	afterUse waits
}

// NewController makes a Controller. Nothing is sent before Run.
func NewController(o Options) (*Controller, error) {
	config := pace.Exceptions.Of(leader.Only(o.Config, o.Leads))
	objects, err := o.Followed.Cache(o.Config, cache.Options{Scheme: o.Scheme, DefaultTransform: slim})
	if err != nil {
		return nil, fmt.Errorf("exceptions cannot be watched: %w", err)
	}
	reader, err := client.New(config, client.Options{Scheme: o.Scheme, Cache: &client.CacheOptions{Reader: objects}})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	direct, err := client.New(config, client.Options{Scheme: o.Scheme})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	counts, err := client.New(pace.Exceptions.Of(o.Config), client.Options{Scheme: o.Scheme})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	return &Controller{Options: o, objects: objects, client: reader, direct: direct, counts: counts, changed: notice.New()}, nil
}

// Notice says that policies or exceptions have changed.
func (c *Controller) Notice() {
	c.changed.Give()
}

// Ready is always nil: no decision waits for the controller.
func (c *Controller) Ready() error { return nil }

// Run watches, and writes what this replica counted, until ctx ends. What only one replica
// writes is Lead's.
func (c *Controller) Run(ctx context.Context) error {
	if err := c.watch(ctx); err != nil {
		return fmt.Errorf("exceptions cannot be watched: %w", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- c.objects.Start(ctx) }()
	var flushed sync.WaitGroup
	flushed.Go(func() { c.flush(ctx) })
	flushed.Go(func() { c.flushSessions(ctx) })
	flushed.Wait()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Able waits until what is watched is known, and reports false if ctx ended first.
func (c *Controller) Able(ctx context.Context) bool { return c.objects.WaitForCacheSync(ctx) }

// Lead sweeps after each change, and from time to time, until ctx ends.
func (c *Controller) Lead(ctx context.Context) {
	ticker := c.Clock.NewTicker(sweepEvery)
	defer ticker.Stop()
	p := schedule{changed: true}
	for {
		began := c.Clock.Now()
		err := c.reconcileSessions(ctx)
		if p.due(began) {
			failed := c.reconcileExceptions(ctx)
			p.looked(began, c.Clock.Now())
			if behind := c.behind.Swap(false); behind || failed != nil {
				p.failed(began)
			}
			err = errors.Join(err, failed)
		}
		if err != nil && ctx.Err() == nil {
			c.Log.Error(err, "the state of exceptions and sessions could not be written; it is tried again")
		}
		if !c.rest(ctx, &p, ticker) {
			return
		}
	}
}

// rest waits until something is to be looked at. It reports false once ctx has ended.
func (c *Controller) rest(ctx context.Context, p *schedule, ticker clock.Ticker) bool {
	changes, later := c.changed, (<-chan time.Time)(nil)
	if wait := p.wait(c.Clock.Now()); wait > 0 {
		// A notice stays until it may be taken.
		changes, later = nil, c.Clock.After(wait)
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C():
			return true
		case <-later:
			changes, later = c.changed, nil
		case <-changes:
			p.changed = true
			return true
		}
	}
}

func (c *Controller) reconcileExceptions(ctx context.Context) error {
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	return errors.Join(
		c.updateRequests(ctx, all), c.updateResponses(ctx, all), c.updateExceptions(ctx, all),
		c.approve(ctx, all), c.cleanUp(ctx, all),
	)
}

// everything is what there is.
type everything struct {
	policies   *policy.Set
	set        *exception.Set
	now        time.Time
	overlaps   overlaps
	requests   []v1alpha1.PolicyExceptionRequest
	responses  []v1alpha1.PolicyExceptionResponse
	exceptions []v1alpha1.PolicyException
	wide       []v1alpha1.ClusterPolicyException
	// passes are those of exceptions, by the UID of their object.
	passes map[types.UID]*exception.Exception
	// answers are the responses by what they answer, without those that were deleted.
	answers map[answered][]*v1alpha1.PolicyExceptionResponse
}

func (c *Controller) list(ctx context.Context) (*everything, error) {
	var requests v1alpha1.PolicyExceptionRequestList
	var responses v1alpha1.PolicyExceptionResponseList
	var exceptions v1alpha1.PolicyExceptionList
	var wide v1alpha1.ClusterPolicyExceptionList
	for list, options := range map[client.ObjectList][]client.ListOption{
		// Of these a copy is made of each that is written, and of no other.
		&exceptions: {client.UnsafeDisableDeepCopy}, &wide: {client.UnsafeDisableDeepCopy},
		&requests: nil, &responses: nil,
	} {
		if err := c.client.List(ctx, list, options...); err != nil {
			return nil, fmt.Errorf("exceptions cannot be listed: %w", err)
		}
	}
	policies := c.Set()
	set := policies.Exceptions()
	all := &everything{
		policies: policies, set: set, now: c.Clock.Now(), overlaps: overlapsIn(set), requests: requests.Items, responses: responses.Items,
		exceptions: exceptions.Items, wide: wide.Items, answers: map[answered][]*v1alpha1.PolicyExceptionResponse{},
		passes: map[types.UID]*exception.Exception{},
	}
	for _, p := range set.Exceptions() {
		if p.Names.Kind != exception.KindRequest {
			all.passes[p.UID()] = p
		}
	}
	for i := range all.responses {
		if a := &all.responses[i]; a.DeletionTimestamp == nil {
			version := answered{a.Spec.RequestUID, a.Spec.RequestGeneration}
			all.answers[version] = append(all.answers[version], a)
		}
	}
	return all, nil
}

// answersTo lists the responses that answer a request as it is.
func (all *everything) answersTo(q *v1alpha1.PolicyExceptionRequest) []*v1alpha1.PolicyExceptionResponse {
	return all.answers[answered{q.UID, q.Generation}]
}

// answerTo is the response that counts of those; a denial takes precedence over an approval,
// and of two approvals none does, as nobody can say which was meant.
func (all *everything) answerTo(q *v1alpha1.PolicyExceptionRequest) *v1alpha1.PolicyExceptionResponse {
	var approval *v1alpha1.PolicyExceptionResponse
	approvals := 0
	for _, a := range all.answersTo(q) {
		if a.Spec.Status == v1alpha1.ResponseDenied {
			return a
		}
		approval = a
		approvals++
	}
	if approvals > 1 {
		return nil
	}
	return approval
}

// answered is the version of a request.
type answered struct {
	uid        types.UID
	generation int64
}
