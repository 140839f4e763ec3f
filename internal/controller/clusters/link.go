package clusters

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/watch/follow"
	"github.com/sallyport-io/sallyport/internal/watch/known"
)

const (
	// maxReads bounds the reads of one cluster that are under way. A decision makes
	// a few, one after the other, so this is about as many requests as an API server
	// works on at once by default (--max-mutating-requests-inflight 200), and an
	// eighth of the decisions that this server makes at once.
	maxReads = 128
	// maxWait is how long a read waits for its turn. Longer would only use up the
	// time in which the fail mode has to answer.
	maxWait = 250 * time.Millisecond
	// retireAfter is how long a link is kept after another has taken its place, for
	// the decisions that began with it.
	retireAfter = 10 * time.Second
)

// link is the connection to one cluster by one kubeconfig.
type link struct {
	id      string
	options *Options
	config  *rest.Config
	reader  reader
	reviews *cluster.Reviews
	monitor *monitor
	places  chan struct{}
	refused *refusals
	// book has what must be known of the cluster.
	book *known.Book
	// line is the way to the cluster's API server.
	line follow.Line

	// ctx ends when the link does, and running is what ends with it.
	ctx     context.Context //nolint:containedctx // the life of the link, not of a call
	cancel  context.CancelFunc
	running sync.WaitGroup

	// roles are watched from when somebody asks for them.
	rolesMu sync.Mutex
	roles   *cluster.Live
	closed  bool
}

// refusals counts the reads of a cluster that were not made.
type refusals struct{ busy, unreachable atomic.Uint64 }

// reader reads a cluster.
type reader interface {
	request.Cluster
	Run(ctx context.Context) error
	Ping(ctx context.Context) error
}

// newLink makes a link and starts it.
func newLink(id string, config *rest.Config, o *Options, refused *refusals, told func()) (*link, error) {
	l := &link{id: id, options: o, config: config, refused: refused, places: make(chan struct{}, maxReads), book: known.NewBook(o.Clock.Now())}
	options := append(o.clusterOptions(), cluster.WithFollow(l.follow))
	var err error
	if o.CachePods {
		l.reader, err = cluster.NewCached(config, append(options, cluster.WithNamespaceInformer())...)
	} else {
		l.reader, err = cluster.NewLive(config, append(options, cluster.WithNamespaceInformer())...)
	}
	if err != nil {
		return nil, err
	}
	if l.reviews, err = cluster.NewReviews(config, options...); err != nil {
		return nil, err
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.monitor = newMonitor(l.reader.Ping, o.Clock, told)
	l.running.Go(func() { _ = l.reader.Run(l.ctx) })
	l.running.Go(func() { l.monitor.run(l.ctx) })
	return l, nil
}

// follow has a resource that is watched count as one of those that must be known.
func (l *link) follow(resource string) follow.Options {
	o := l.followed(resource)
	l.book.Add(l.named(resource), o.Fact)
	return o
}

// followOnce is follow for what is watched from when somebody asks for it: until it
// was read, whoever asks waits for it, and nobody else.
func (l *link) followOnce(resource string) follow.Options {
	o := l.followed(resource)
	l.book.Add(l.named(resource), known.Func(func(now time.Time) known.Standing {
		s := o.Fact.Stand(now)
		if s.State == known.Unread {
			s.State = known.Known
		}
		return s
	}))
	return o
}

func (l *link) named(resource string) string { return resource + " of cluster " + l.id }

func (l *link) followed(resource string) follow.Options {
	staleness := l.options.Staleness
	if staleness == 0 {
		staleness = follow.DefaultStaleness
	}
	return follow.Options{
		Fact: known.NewFact(l.book, staleness, l.options.Clock.Now()), Staleness: staleness, Line: &l.line, Clock: l.options.Clock,
		Log: l.options.Log.WithValues("cluster", l.id, "resource", resource),
	}
}

// close ends the link and all that it started. Reads that are under way fail.
func (l *link) close() {
	l.cancel()
	l.rolesMu.Lock()
	l.closed = true
	l.rolesMu.Unlock()
	l.running.Wait()
	l.reviews.Close()
}

// enter takes a place for a read; leave gives it back.
func (l *link) enter(ctx context.Context) (leave func(), err error) {
	if l.ctx.Err() != nil {
		return nil, l.gone()
	}
	if h := l.monitor.outage(); h != nil {
		l.refused.unreachable.Add(1)
		return nil, h.failure(l.id)
	}
	leave = func() { <-l.places }
	select {
	case l.places <- struct{}{}:
		return leave, nil
	default:
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case l.places <- struct{}{}:
		return leave, nil
	case <-timer.C:
		l.refused.busy.Add(1)
		return nil, fmt.Errorf("cluster %s is not read: %d reads of it are under way, and no more are made at once", l.id, cap(l.places))
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.ctx.Done():
		return nil, l.gone()
	}
}

var errGone = errors.New("its ClusterConfig or its kubeconfig has just changed")

func (l *link) gone() error { return fmt.Errorf("cluster %s is not read: %w", l.id, errGone) }

// through makes one read.
func through[T any](ctx context.Context, l *link, read func() (T, error)) (T, error) {
	var none T
	leave, err := l.enter(ctx)
	if err != nil {
		return none, err
	}
	defer leave()
	value, err := read()
	l.monitor.saw(ctx, err)
	return value, err
}

// watchRoles starts to watch roles and bindings, unless that was done, and waits
// until they have been read once.
func (l *link) watchRoles(ctx context.Context) (*cluster.Live, error) {
	roles, err := l.startRoles()
	if err != nil {
		return nil, err
	}
	if roles.HasSynced() {
		return roles, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cluster.DefaultReadTimeout)
	defer cancel()
	if err := roles.WaitForSync(ctx); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", l.id, err)
	}
	return roles, nil
}

func (l *link) startRoles() (*cluster.Live, error) {
	l.rolesMu.Lock()
	defer l.rolesMu.Unlock()
	switch {
	case l.closed:
		return nil, l.gone()
	case l.roles != nil:
		return l.roles, nil
	}
	roles, err := cluster.NewLive(l.config, append(l.options.clusterOptions(), cluster.WithRBAC(), cluster.WithFollow(l.followOnce))...)
	if err != nil {
		return nil, err
	}
	l.roles = roles
	l.running.Go(func() { _ = roles.Run(l.ctx) })
	return roles, nil
}
