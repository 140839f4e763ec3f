// Package follow stands between a cache and the API server that it is fed from. It
// says how well the cache is fed, tries again soon whatever went wrong, notices a
// connection that has gone silent, and keeps what a cache holds of a kind of ours
// while that kind is being taken away.
package follow

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// DefaultStaleness is how long what is watched counts as known after it was last
// heard of, where nothing else is said. A connection that is dead is closed by
// client-go after 45 s, and all watches are there again a moment later: a shorter
// time would refuse everything whenever a load balancer forgets a connection. A
// longer one lets a policy that was just written wait for no reason.
const DefaultStaleness = time.Minute

// MinStaleness is the shortest time that can be kept: watches are begun again at a
// third of it, and the API server counts in seconds.
const MinStaleness = 5 * time.Second

// Options say what is told of a source, and when.
type Options struct {
	// Fact is told how well the cache is fed; nil where nobody wants to know.
	Fact *known.Fact
	// Staleness is after what time without a word the fact is lost. Each watch is
	// begun again at a third of it, so that the API server is heard of at least as
	// often. Zero: DefaultStaleness.
	Staleness time.Duration
	// Kind is the kind of ours that is followed; nil for those of Kubernetes, which
	// cannot be taken away.
	Kind *Kind
	// KeepGone has the fact stay known after its kind was taken away.
	KeepGone bool
	// Slim takes out of each object of a page of a list what its cache does not hold, so
	// that not all of a list is held whole. Nil for nothing; it must do nothing to what
	// it was called with before.
	Slim cache.TransformFunc
	// Failed is told why the source cannot be read, when that begins and when it is for
	// another reason; nil where no one wants to know.
	Failed func(error)
	// Line is the way to the API server, shared with other sources; nil for none.
	Line  *Line
	Clock clock.WithDelayedExecution
	Log   logr.Logger
}

// Pauses between tries: the first, and the longest.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
	// listTimeout bounds one page of a list.
	listTimeout = time.Minute
)

// pageSize is how many objects are listed at once.
const pageSize = 500

// source is where a cache is fed from.
type source struct {
	Options
	inner cache.ListerWatcherWithContext
	// listed is set once all was read, and uid is of which CustomResourceDefinition.
	listed atomic.Bool
	uid    atomic.Value
	// leaving is set while the kind is being taken away, and after that: what is
	// deleted in its course stays.
	leaving atomic.Bool
	failing atomic.Pointer[failure]
	// whole is set where a page of a list has become too old before the list was read to
	// its end, and part while a list is not. Both are of the caller, who lists and begins
	// to watch one after the other, or of the watch, which lists by itself.
	whole, part atomic.Bool
	// holds is what was listed last, for the watch that follows.
	holds *holding
	// asOf is when the first page was asked for of what was listed last, until the watch
	// that follows has begun.
	asOf atomic.Pointer[time.Time]
}

var (
	_ cache.ListerWatcher            = (*source)(nil)
	_ cache.ListerWatcherWithContext = (*source)(nil)
)

// Source is inner with what this package does for it. No call of it fails for what
// can pass: it is tried again, at most 2 s later, until the caller gives up.
func Source(inner cache.ListerWatcher, o Options) cache.ListerWatcher {
	if o.Staleness == 0 {
		o.Staleness = DefaultStaleness
	}
	if o.Line == nil {
		o.Line = &Line{}
	}
	s := &source{Options: o, inner: cache.ToListerWatcherWithContext(inner)}
	s.uid.Store("")
	return s
}

// IsWatchListSemanticsUnSupported has a cache filled by lists, which can be held to
// what they must be.
func (s *source) IsWatchListSemanticsUnSupported() bool { return true }

// List lists without an end to the tries.
func (s *source) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// Watch watches without an end to the tries.
func (s *source) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

// ListWithContext lists what the API server has now. What its cache had at some time
// would let a policy that was changed since come back.
func (s *source) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := s.page(ctx, options)
	if err == nil {
		err = s.keep(list, options.Continue == "")
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// page lists one page, in as many tries as it takes.
func (s *source) page(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	// Whoever reads pages asks once for everything where one of them is too old, and
	// takes what he gets for everything.
	whole := options.Limit == 0 && options.Continue == "" && s.whole.Load()
	if options.Limit == 0 && !whole {
		// Whoever reads everything again asks for all of it at once.
		options.Limit = pageSize
	}
	again := s.retry()
	for {
		list, err := s.list(ctx, options)
		switch {
		case err == nil:
			return list, nil
		case ctx.Err() != nil:
			return nil, err
		case options.Continue != "" && !momentary(err):
			return nil, s.noPage(err)
		}
		s.failed(err)
		if whole {
			// It may be too much: next time it is tried in pages.
			s.whole.Store(false)
			return nil, apierrors.NewResourceExpired(err.Error())
		}
		if !again.wait(ctx) {
			return nil, ctx.Err()
		}
	}
}

// noPage is the error of a page that will not come however often it is asked for, as
// where it is too old, or the API server does not take what the one before it said of
// where it begins. Everything is listed again, and at once: the next first page might be
// followed by as little.
func (s *source) noPage(err error) error {
	s.whole.Store(true)
	if apierrors.IsResourceExpired(err) {
		return err
	}
	s.failed(err)
	return apierrors.NewResourceExpired(fmt.Sprintf("the list cannot be read on from one of its pages: %s", err))
}

// errPart is why a list is not accepted.
var errPart = errors.New("the API server gave a part where everything was asked for")

// list lists once. A list of a kind that is being taken away holds less than what was
// written, and so is none.
func (s *source) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	asOf := s.Clock.Now()
	before, err := s.Kind.read(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.within(ctx, listTimeout, options)
	if err != nil {
		return nil, s.Kind.explain(ctx, err)
	}
	after, err := s.Kind.read(ctx)
	switch {
	case err != nil:
		return nil, err
	case after.Leaving || before.UID != after.UID:
		return nil, errLeaving
	}
	listed, err := metaOf(list)
	if err != nil {
		return nil, err
	}
	more := listed.GetContinue() != ""
	if more && options.Limit == 0 {
		return nil, errPart
	}
	if err := s.slim(list); err != nil {
		return nil, err
	}
	if options.Continue == "" {
		s.asOf.Store(&asOf)
	}
	s.part.Store(more)
	if !more {
		s.whole.Store(false)
		s.uid.Store(after.UID)
		s.leaving.Store(false)
		s.listed.Store(true)
	}
	return list, nil
}

func (s *source) slim(list runtime.Object) error {
	if s.Slim == nil {
		return nil
	}
	err := meta.EachListItem(list, func(object runtime.Object) error {
		_, err := s.Slim(object)
		return err
	})
	if err != nil {
		return fmt.Errorf("what was listed cannot be kept: %w", err)
	}
	return nil
}

// within lists once, and gives up after a time.
func (s *source) within(ctx context.Context, limit time.Duration, options metav1.ListOptions) (runtime.Object, error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := s.Clock.AfterFunc(limit, cancel)
	list, err := s.inner.ListWithContext(within, options)
	if !timer.Stop() && ctx.Err() == nil && err != nil {
		err = &noAnswer{limit}
	}
	return list, err
}

// metaOf is what a list says of itself.
func metaOf(list runtime.Object) (metav1.ListInterface, error) {
	listed, err := meta.ListAccessor(list)
	if err != nil {
		return nil, errors.New("the server answered with something else than a list; is the address that of an API server?")
	}
	return listed, nil
}

// beginAgain is when a watch is begun again; asked is the same in whole seconds, in which
// the API server is asked to end it. One that says nothing for silence is given up.
func (s *source) beginAgain() time.Duration { return max(time.Second, s.Staleness/3) }

func (s *source) asked() time.Duration { return s.beginAgain().Truncate(time.Second) }

func (s *source) silence() time.Duration { return s.beginAgain() + max(time.Second, s.Staleness/6) }

// answerIn is how long a watch may take to begin.
func (s *source) answerIn() time.Duration { return max(time.Second, s.Staleness/6) }

// retry counts tries that failed.
type retry struct {
	clock clock.Clock
	line  *Line
	pause time.Duration
}

func (s *source) retry() *retry { return &retry{s.Clock, s.Line, firstPause} }

// reset has the next pause be the first.
func (r *retry) reset() { r.pause = firstPause }

// wait waits before the next try, and reports whether there is one.
func (r *retry) wait(ctx context.Context) bool {
	pause := r.pause
	if r.line.settles(r.clock.Now()) {
		pause = min(pause, soon)
	}
	timer := r.clock.NewTimer(pause)
	defer timer.Stop()
	r.pause = min(2*r.pause, longestPause)
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return ctx.Err() == nil
	case <-r.line.again():
		r.reset()
		return ctx.Err() == nil
	}
}
