package workflow

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// releaseLimit is how long a replica that ends tries to give its lease back. A
// lease that is not given back runs out by itself after leaseDuration, so it is
// not worth keeping a shutdown for when the API server does not answer.
const releaseLimit = 2 * time.Second

// hastyLock is a lock that is in a hurry once ending has ended: the elector gives
// a lease back under a context of its own, with the deadline of a renewal, which
// is longer than a shutdown may take.
type hastyLock struct {
	resourcelock.Interface
	ending context.Context //nolint:containedctx // the life of the replica, not of a call
}

func (l *hastyLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := l.limit(ctx)
	defer cancel()
	return l.Interface.Get(ctx)
}

func (l *hastyLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := l.limit(ctx)
	defer cancel()
	return l.Interface.Update(ctx, record)
}

func (l *hastyLock) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.ending.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, releaseLimit)
}
