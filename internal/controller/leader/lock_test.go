package leader

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
)

// stub is a Lease that notes how long each call may take, and what was written.
type stub struct {
	resourcelock.Interface
	record resourcelock.LeaderElectionRecord
	err    error
	// during is called while it is written.
	during  func()
	limits  []time.Duration
	written int
}

func (s *stub) Identity() string { return "here" }

func (s *stub) note(ctx context.Context) {
	until, ok := ctx.Deadline()
	if !ok {
		s.limits = append(s.limits, 0)
		return
	}
	s.limits = append(s.limits, time.Until(until))
}

func (s *stub) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	s.note(ctx)
	record := s.record
	return &record, nil, s.err
}

func (s *stub) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return s.Update(ctx, record)
}

func (s *stub) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	s.note(ctx)
	if s.during != nil {
		s.during()
	}
	if s.err == nil {
		s.record = record
		s.written++
	}
	return s.err
}

var (
	noon  = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	held  = resourcelock.LeaderElectionRecord{HolderIdentity: "here"}
	freed = resourcelock.LeaderElectionRecord{}
)

// newLock is a lock of a candidate that works.
func newLock(ending context.Context) (*lock, *stub, *clocktesting.FakeClock) {
	clock, lease := clocktesting.NewFakeClock(noon), &stub{record: held}
	e := New(Options{Clock: clock})
	e.term.Store(&term{})
	return &lock{Interface: lease, election: e, ending: ending, lost: func() {}, idle: func() {}}, lease, clock
}

// TestCallsAreBounded has none wait for an API server for longer than a renewal may take,
// whatever the elector would.
func TestCallsAreBounded(t *testing.T) {
	lock, seen, _ := newLock(t.Context())
	late, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, ctx := range []context.Context{t.Context(), late} {
		seen.limits = nil
		if err := lock.Create(ctx, held); err != nil {
			t.Fatal(err)
		}
		lock.election.from.Store(nil)
		if _, _, err := lock.Get(ctx); err != nil {
			t.Fatal(err)
		}
		for _, record := range []resourcelock.LeaderElectionRecord{held, freed} {
			if err := lock.Update(ctx, record); err != nil {
				t.Fatal(err)
			}
		}
		for _, limit := range seen.limits {
			if limit <= 0 || limit > renewDeadline {
				t.Errorf("a call may take %v, want at most %v", limit, renewDeadline)
			}
		}
		if len(seen.limits) != 4 {
			t.Errorf("%d calls went through, want 4", len(seen.limits))
		}
	}
}

// TestLeadsForLessThanTheLeaseLasts counts from when a renewal began: others count from
// when they saw it, and those that failed do not count.
func TestLeadsForLessThanTheLeaseLasts(t *testing.T) {
	lock, lease, clock := newLock(t.Context())
	leads := func(want bool) {
		t.Helper()
		if got := lock.election.Leads(); got != want {
			t.Errorf("leads %v, want %v", got, want)
		}
	}
	leads(false)
	lease.during = func() { clock.Step(time.Second) }
	if err := lock.Create(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	leads(true)
	clock.Step(trusted - time.Second - 1)
	leads(true)
	lease.err, lease.during = errors.New("etcd is away"), nil
	if err := lock.Update(t.Context(), held); err == nil {
		t.Fatal("a renewal that failed did not")
	}
	clock.Step(1)
	leads(false)
	lease.err = nil
	if err := lock.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	leads(true)
	lock.election.term.Store(nil)
	leads(false)
	lock.election.term.Store(&term{})
	leads(true)
	lock.election.Resign()
	leads(false)
}

// suspended is a clock of a machine that stood still for a while: the time that is measured
// did not go on.
type suspended struct {
	*clocktesting.FakeClock
	stood time.Duration
}

func (s *suspended) Since(t time.Time) time.Duration { return s.FakeClock.Since(t) - s.stood }

// TestSuspendedLeadsNoMore as far as the time of day shows that it was suspended.
func TestSuspendedLeadsNoMore(t *testing.T) {
	lock, _, fake := newLock(t.Context())
	clock := &suspended{FakeClock: fake}
	lock.election.Clock = clock
	if err := lock.Update(t.Context(), held); err != nil || !lock.election.Leads() {
		t.Fatal("it does not lead", err)
	}
	clock.stood = time.Minute
	fake.Step(clock.stood)
	if lock.election.Leads() {
		t.Error("it leads after a minute in which it stood still")
	}
}

// TestLeaseOfAnother is not given back, and ends the election of who had it.
func TestLeaseOfAnother(t *testing.T) {
	another := resourcelock.LeaderElectionRecord{HolderIdentity: "there"}
	for name, c := range map[string]struct {
		held   bool
		record resourcelock.LeaderElectionRecord
		lost   bool
		// written is how often a Lease is written that is to be given back.
		written int
	}{
		"its own":             {true, held, false, 1},
		"nobody's":            {true, freed, false, 0},
		"another's":           {true, another, true, 0},
		"another's from then": {false, another, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			lock, lease, _ := newLock(t.Context())
			lost := false
			lock.lost = func() { lost = true }
			if c.held {
				if err := lock.Update(t.Context(), held); err != nil {
					t.Fatal(err)
				}
			}
			lease.record, lease.written = c.record, 0
			if _, _, err := lock.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
			if lost != c.lost || lock.election.Leads() != (c.held && !c.lost) {
				t.Errorf("lost %v, want %v; leads %v", lost, c.lost, lock.election.Leads())
			}
			if err := lock.Update(t.Context(), freed); err != nil || lease.written != c.written {
				t.Errorf("written %d times, want %d; %v", lease.written, c.written, err)
			}
		})
	}
}

// TestLeaseIsGivenBackAfterTheWork waits for what is still done, and does not give it back
// where that takes too long.
func TestLeaseIsGivenBackAfterTheWork(t *testing.T) {
	for _, ends := range []bool{true, false} {
		lock, lease, _ := newLock(t.Context())
		if _, _, err := lock.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		defer close(done)
		worked := 0
		lock.idle = func() {
			worked++
			if !ends {
				cancel()
				<-done
			}
		}
		lease.during = func() {
			if worked != 1 {
				t.Error("given back while work is done")
			}
		}
		if err := lock.Update(ctx, freed); (err == nil) != ends || lease.written == 1 != ends {
			t.Errorf("the work ends: %v; written %d times, %v", ends, lease.written, err)
		}
		cancel()
	}
}
