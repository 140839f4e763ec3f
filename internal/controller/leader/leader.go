// Package leader has the replicas of an installation agree which one of them writes.
package leader

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Times of an election. Another replica leads in less than 5 s after the one that led was
// killed: it asks every 0.4 s to 0.88 s, so that it may see the last renewal that late,
// waits for as long as the Lease lasts, and asks again: 3 s + 2 * 0.88 s at most. A
// replica leads for no longer than trusted after it began its last renewal that was
// written, which is before any other may: also where the Lease was deleted or changed by
// hand, one that takes it leads only once it has not changed for that long.
const (
	lasts         = 3 * time.Second
	trusted       = 2500 * time.Millisecond
	renewDeadline = 2 * time.Second
	retryPeriod   = 400 * time.Millisecond
	// LeaseName is the Lease by which replicas agree who writes.
	LeaseName = "sallyport-workflow"
)

// Options are what an Election is made of.
type Options struct {
	Client kubernetes.Interface
	// Namespace is that of the Lease, and Identity who this replica is.
	Namespace, Identity string
	// Able waits until this replica could do the work, and reports false if ctx ended
	// first. It is not a candidate before.
	Able func(ctx context.Context) bool
	// Work is done while this replica leads; ctx ends when it does not any more, and Work
	// must return soon then. No other work begins before.
	Work  func(ctx context.Context)
	Clock clock.Clock
	Log   logr.Logger
}

// Election is how one replica takes part.
type Election struct {
	Options
	resigned context.Context //nolint:containedctx // the part that this replica takes, not a call
	resign   context.CancelFunc
	// term is that in which Work is to be done, nil outside of one, and renewed is when the
	// last renewal that was written began.
	term    atomic.Pointer[term]
	renewed atomic.Pointer[time.Time]
	// from is when no earlier leader trusts itself any more, nil for always.
	from atomic.Pointer[time.Time]
	// seen is the Lease as it was seen last, for who calls Run.
	seen sighting
	// failing is set while the Lease cannot be read or written, for who calls Run.
	failing bool
	// led are told when this replica comes to lead.
	led []func()
}

// term is one time of leading. Each is another, so that the end of one, noticed late, does
// not end the next.
type term struct{ _ byte }

// sighting is a writing of the Lease, and when it was seen first.
type sighting struct {
	version string
	at      time.Time
}

// New makes an Election. Nothing is sent before Run.
func New(o Options) *Election {
	e := &Election{Options: o}
	e.resigned, e.resign = context.WithCancel(context.Background())
	return e
}

// OnLead has f called when this replica comes to lead. It must return soon, and be given
// before Run.
func (e *Election) OnLead(f func()) { e.led = append(e.led, f) }

// Leads reports whether this replica is the one that writes. Also where it was held up,
// so that it could not be told that it leads no more, it does not outlast its Lease.
func (e *Election) Leads() bool {
	renewed := e.renewed.Load()
	return e.term.Load() != nil && e.resigned.Err() == nil && renewed != nil && e.passed(*renewed) < trusted
}

// passed is the time since then. While a machine is suspended, the time that a process
// measures stands still, and only the time of day shows it.
func (e *Election) passed(then time.Time) time.Duration {
	return max(e.Clock.Since(then), e.Clock.Now().Round(0).Sub(then.Round(0)))
}

// saw notes how the Lease is, once of each writing.
func (e *Election) saw(version string) {
	if version == "" || version != e.seen.version {
		e.seen = sighting{version, e.Clock.Now()}
	}
}

// follow has this replica lead only once whoever wrote the Lease as it was seen last, or
// before, does not trust himself any more.
func (e *Election) follow() {
	from := e.seen.at.Add(trusted)
	e.from.Store(&from)
}

// waits is the time until no earlier leader trusts itself any more.
func (e *Election) waits() time.Duration {
	if from := e.from.Load(); from != nil {
		return max(0, from.Sub(e.Clock.Now()))
	}
	return 0
}

// Resign ends the part that this replica takes, so that another leads soon, and returns
// at once. It does not lead again.
func (e *Election) Resign() { e.resign() }

// Ready is always nil: no decision waits for an election.
func (e *Election) Ready() error { return nil }

// Run takes part until ctx ends. A lost election, and an API server that is away, end
// nothing: both are tried again.
func (e *Election) Run(ctx context.Context) error {
	candidate, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.resigned, cancel)()
	if e.Able(candidate) {
		for candidate.Err() == nil {
			e.elect(candidate)
		}
	}
	<-ctx.Done()
	return nil
}

// elect takes part in one election, and works while it is won.
func (e *Election) elect(ctx context.Context) {
	var working sync.WaitGroup
	part, lost := context.WithCancel(ctx)
	defer lost()
	lock := &lock{election: e, ending: ctx, lost: lost, idle: working.Wait, Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: LeaseName},
		Client:     e.Client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
	}}
	won := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: lasts, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true, Name: LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(ctx context.Context) { won <- ctx }, OnStoppedLeading: func() {}},
	})
	if err != nil {
		e.Log.Error(err, "no election can be held")
		select {
		case <-ctx.Done():
		case <-e.Clock.After(renewDeadline):
		}
		return
	}
	over := make(chan struct{})
	working.Add(1)
	go func() {
		defer working.Done()
		select {
		case leading := <-won:
			e.lead(leading)
		case <-over:
		}
	}()
	// It would log each of its attempts.
	elector.Run(klog.NewContext(part, logr.Discard()))
	close(over)
	working.Wait()
}

// lead works until ctx ends, from when no earlier leader may.
func (e *Election) lead(ctx context.Context) {
	if wait := e.waits(); wait > 0 {
		select {
		case <-ctx.Done():
		case <-e.Clock.After(wait):
		}
	}
	if ctx.Err() != nil {
		return
	}
	begun := &term{}
	e.term.Store(begun)
	end := func() { e.term.CompareAndSwap(begun, nil) }
	defer end()
	defer context.AfterFunc(ctx, end)()
	e.Log.Info("this replica leads: it writes what one replica is to write", "identity", e.Identity)
	for _, led := range e.led {
		led()
	}
	e.Work(ctx)
	if e.resigned.Err() == nil {
		e.Log.Info("this replica leads no more", "identity", e.Identity)
	}
}
