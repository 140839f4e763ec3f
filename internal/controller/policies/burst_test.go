package policies

import (
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestBurst puts a change that comes by itself in force at once, and a thousand that come
// one after another together.
func TestBurst(t *testing.T) {
	w := newWorld(t, document("DenyPolicy", "x", soundSpec))
	clock := clocktesting.NewFakeClock(now)
	w.watch.clock = clock
	var reloads atomic.Int32
	w.watch.OnReload(func() {
		reloads.Add(1)
		// So long it took.
		clock.Step(40 * time.Millisecond)
	})
	ctx, cancel := withCancel(t)
	ended := make(chan error, 1)
	go func() { ended <- w.watch.Run(ctx) }()
	defer func() {
		cancel()
		<-ended
	}()
	reloaded := func(times int32) {
		t.Helper()
		waitFor(t, "what was read to be in force", func() bool { return reloads.Load() == times && clock.HasWaiters() })
	}
	reloaded(1)
	for range 1_000 {
		w.watch.changed.Give()
	}
	clock.Step(39 * time.Millisecond)
	if n := reloads.Load(); n != 1 || !clock.HasWaiters() {
		t.Errorf("reloaded %d times while it rests", n)
	}
	clock.Step(time.Millisecond)
	reloaded(2)
	clock.Step(40 * time.Millisecond)
	waitFor(t, "the end of the rest", func() bool { return !clock.HasWaiters() })
	if n := reloads.Load(); n != 2 {
		t.Errorf("reloaded %d times after a burst", n)
	}
	// Now nothing is waited for: no step of the clock.
	w.watch.changed.Give()
	reloaded(3)
}
