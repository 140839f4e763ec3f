package workflow

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// deadlines is a lock that notes how long each call may take.
type deadlines struct {
	resourcelock.Interface
	limits []time.Duration
}

func (d *deadlines) note(ctx context.Context) {
	until, ok := ctx.Deadline()
	if !ok {
		d.limits = append(d.limits, 0)
		return
	}
	d.limits = append(d.limits, time.Until(until))
}

func (d *deadlines) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	d.note(ctx)
	return nil, nil, nil
}

func (d *deadlines) Update(ctx context.Context, _ resourcelock.LeaderElectionRecord) error {
	d.note(ctx)
	return nil
}

func TestLeaseIsGivenBackInAHurry(t *testing.T) {
	ending, end := context.WithCancel(t.Context())
	seen := &deadlines{}
	lock := &hastyLock{Interface: seen, ending: ending}
	calls := func(ctx context.Context) {
		t.Helper()
		if _, _, err := lock.Get(ctx); err != nil {
			t.Fatal(err)
		}
		if err := lock.Update(ctx, resourcelock.LeaderElectionRecord{}); err != nil {
			t.Fatal(err)
		}
	}
	calls(t.Context())
	for _, limit := range seen.limits {
		if limit != 0 {
			t.Errorf("while it runs, a call has a limit of %v", limit)
		}
	}
	end()
	seen.limits = nil
	late, cancel := context.WithTimeout(context.Background(), renewDeadline)
	defer cancel()
	calls(late)
	for _, limit := range seen.limits {
		if limit <= 0 || limit > releaseLimit {
			t.Errorf("when it ends, a call may take %v, want at most %v", limit, releaseLimit)
		}
	}
	if len(seen.limits) != 2 {
		t.Errorf("%d calls went through, want 2", len(seen.limits))
	}
}
