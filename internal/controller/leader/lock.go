package leader

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// releasedSeconds is the duration of a Lease that the elector gave back. One that was
// emptied by hand has another.
const releasedSeconds = 1

// lock is the Lease as the elector sees it, of one election. It notes when a renewal
// began, and bounds each call.
type lock struct {
	resourcelock.Interface
	election *Election
	ending   context.Context //nolint:containedctx // the life of a candidate, not of a call
	// lost ends this election, and idle waits until no work is done of it.
	lost, idle func()

	// Only the elector calls: held is set once the Lease was this replica's, holder is
	// whose it was when it was read last, and released is set where it was given back then.
	held, released bool
	holder         string
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
//
// The elector counts for how long what is given with the record stays the same. That has
// the time of the renewal to the microsecond: as the elector's library writes it, all
// renewals of a second look the same, and a Lease that was renewed until the end of one
// would be taken while its holder still trusts it.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	record, _, err := l.Interface.Get(ctx)
	l.report(err)
	if err != nil {
		return nil, nil, err
	}
	l.holder, l.released = record.HolderIdentity, released(record)
	if l.held && l.holder != "" && l.holder != l.Identity() {
		l.lose()
	}
	seen := version(record)
	l.election.saw(seen)
	return record, []byte(seen), nil
}

// Create makes the Lease. There was none, so that nothing is known of a leader before but
// that he wrote nothing since.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.holder, l.released = "", false
	return l.renew(ctx, record, func(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
		if err := l.Interface.Create(ctx, record); err != nil {
			return err
		}
		l.election.saw("")
		return nil
	})
}

// Update writes the Lease. To give it back, which is to name no holder, waits until what
// this replica did as the leader is done, and leaves alone what is another's by now: the
// elector goes by what it saw last. It is not given back either while an earlier leader
// may trust itself: whoever takes what was given back leads at once.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != "" {
		return l.renew(ctx, record, l.Interface.Update)
	}
	ctx, cancel := limit(ctx)
	defer cancel()
	l.election.renewed.Store(nil)
	if l.holder != l.Identity() || l.election.waits() > 0 {
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

// renew writes that the Lease is this replica's, and notes when that began. Where it was
// not before, this replica leads once no earlier leader may trust itself; and where it led
// until now, which another may have done meanwhile, it comes to lead again.
func (l *lock) renew(ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	ctx, cancel := limit(ctx)
	defer cancel()
	e := l.election
	began := e.Clock.Now()
	err := write(ctx, record)
	l.report(err)
	if err != nil {
		return err
	}
	again := l.held && l.holder == ""
	if (!l.held || again) && !l.released {
		e.follow()
	}
	l.held, l.holder, l.released = true, record.HolderIdentity, false
	e.saw(version(&record))
	if again {
		l.lose()
		return nil
	}
	e.renewed.Store(&began)
	return nil
}

// lose ends the election, and the time for which this replica may trust itself.
func (l *lock) lose() {
	l.election.renewed.Store(nil)
	l.lost()
}

// limit bounds one call. An API server that does not answer keeps nobody from trying
// again, or from an end: a Lease that is not given back runs out by itself.
func limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, renewDeadline)
}

// released reports whether a Lease was given back by whoever had it, and not emptied by
// hand: then he does not trust himself any more.
func released(r *resourcelock.LeaderElectionRecord) bool {
	return r.HolderIdentity == "" && r.LeaseDurationSeconds == releasedSeconds && r.AcquireTime.Equal(&r.RenewTime)
}

// version tells one writing of the Lease from all others.
func version(r *resourcelock.LeaderElectionRecord) string {
	return fmt.Sprintf("%q %d %d %d %d", r.HolderIdentity, r.LeaseDurationSeconds, r.LeaderTransitions, r.AcquireTime.UnixMicro(), r.RenewTime.UnixMicro())
}
