package leader

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// releaseLimit is how long a replica that ends tries to give its Lease back. A Lease that
// is not given back runs out by itself, so it is not worth keeping an end for when the
// API server does not answer.
const releaseLimit = 2 * time.Second

// lock is the Lease as the elector sees it, of one election. It notes when a renewal
// began, and is in a hurry once this replica takes no part any more: the elector gives a
// Lease back under a context of its own.
type lock struct {
	resourcelock.Interface
	election *Election
	ending   context.Context //nolint:containedctx // the life of a candidate, not of a call
	// lost ends this election, and idle waits until no work is done of it.
	lost, idle func()

	// Only the elector calls: held is set once the Lease was this replica's, and holder is
	// whose it was when it was read last.
	held   bool
	holder string
}

// report logs why the Lease cannot be read or written, once until that changes: it is
// tried several times a second. That another replica was faster is not a fault.
func (l *lock) report(err error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		err = nil
	}
	e := l.election
	switch {
	case err == nil:
		e.failing = false
	case !e.failing && l.ending.Err() == nil:
		e.failing = true
		e.Log.Error(err, "the Lease by which replicas agree who writes cannot be read or written; it is tried again", "namespace", e.Namespace, "name", LeaseName)
	}
}

// Get reads the Lease. Where it is another's though it was this replica's, the election is
// lost at once: the elector would try again until its deadline.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := l.limit(ctx)
	defer cancel()
	record, raw, err := l.Interface.Get(ctx)
	l.report(err)
	if err == nil {
		l.holder = record.HolderIdentity
		if l.held && l.holder != "" && l.holder != l.Identity() {
			l.election.renewed.Store(nil)
			l.lost()
		}
	}
	return record, raw, err
}

// Create makes the Lease.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(func() error { return l.Interface.Create(ctx, record) })
}

// Update writes the Lease. To give it back, which is to name no holder, waits until what
// this replica did as the leader is done, and leaves alone what is another's by now: the
// elector goes by what it saw last.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := l.limit(ctx)
	defer cancel()
	if record.HolderIdentity != "" {
		return l.renew(func() error { return l.Interface.Update(ctx, record) })
	}
	l.election.renewed.Store(nil)
	if l.holder != l.Identity() {
		return nil
	}
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		l.idle()
	}()
	select {
	case <-idle:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return l.Interface.Update(ctx, record)
}

// renew notes when a write of the Lease began that made it this replica's.
func (l *lock) renew(write func() error) error {
	began := l.election.Clock.Now()
	err := write()
	l.report(err)
	if err != nil {
		return err
	}
	l.held = true
	l.election.renewed.Store(&began)
	return nil
}

func (l *lock) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.ending.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, releaseLimit)
}
