package clusters

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// asked is a monitor whose cluster answers what the test says.
type asked struct {
	*monitor
	*testing.T
	clock  *clocktesting.FakeClock
	answer atomic.Pointer[error]
	asks   atomic.Int64
	told   atomic.Int64
}

func newAsked(t *testing.T) *asked {
	t.Helper()
	a := &asked{T: t, clock: clocktesting.NewFakeClock(noon)}
	a.say(nil)
	a.monitor = newMonitor(func(context.Context) error { a.asks.Add(1); return *a.answer.Load() }, a.clock, func() { a.told.Add(1) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); a.run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return a
}

func (a *asked) say(err error) { a.answer.Store(&err) }

// waits fails the test unless the cluster was asked so often, and the monitor
// waits again.
func (a *asked) waits(asks int64) {
	a.Helper()
	if !clustertest.Eventually(10*time.Second, func() bool { return a.asks.Load() == asks && a.clock.HasWaiters() }) {
		a.Fatalf("the cluster was asked %d times, want %d", a.asks.Load(), asks)
	}
}

func TestMonitor(t *testing.T) {
	a := newAsked(t)
	a.waits(1)
	if h := a.health.Load(); !h.Ready() || !h.LastContact.Equal(noon) {
		t.Fatalf("health %+v", h)
	}
	a.clock.Step(firstPause)
	a.waits(1)
	a.clock.Step(checkEvery - firstPause)
	a.waits(2)

	a.say(errors.New("connection refused"))
	a.clock.Step(firstPause)
	a.waits(2)
	// A read that fails has the cluster asked before its time.
	a.saw(t.Context(), errors.New("connection refused"))
	a.waits(3)
	h := a.outage()
	if h == nil || h.Reason != ReasonUnreachable || !h.LastContact.Equal(noon.Add(checkEvery)) {
		t.Fatalf("health %+v", h)
	}
	if err := h.failure("b"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("the failure is %v", err)
	}
	// Each further failure doubles the pause.
	asks := int64(3)
	for _, pause := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		a.clock.Step(pause*time.Second - time.Millisecond)
		a.waits(asks)
		a.clock.Step(time.Millisecond)
		asks++
		a.waits(asks)
	}
	a.say(nil)
	a.clock.Step(longestPause)
	a.waits(asks + 1)
	if a.outage() != nil {
		t.Error("a cluster that answers again is still away")
	}
	if told := a.told.Load(); told != 3 {
		t.Errorf("%d changes were told of, want 3", told)
	}
}

func TestReasons(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, tt := range []struct {
		name   string
		err    error
		reason string
	}{
		{"an answer", nil, ReasonConnected},
		{"nobody known", fmt.Errorf("asked: %w", apierrors.NewUnauthorized("who?")), ReasonUnauthorized},
		{"not allowed", apierrors.NewForbidden(pods, "a", errors.New("no")), ReasonForbidden},
		{"too many", apierrors.NewTooManyRequests("later", 1), ReasonConnected},
		{"an internal error", apierrors.NewInternalError(errors.New("etcd")), ReasonUnreachable},
		{"not available", apierrors.NewServiceUnavailable("down"), ReasonUnreachable},
		{"no answer in time", context.DeadlineExceeded, ReasonUnreachable},
		{"something else", errors.New("is the address that of an API server?"), ReasonUnreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMonitor(func(context.Context) error { return tt.err }, clocktesting.NewFakeClock(noon), func() {})
			m.check(t.Context())
			if h := m.health.Load(); h.Reason != tt.reason || (m.outage() != nil) != (tt.reason == ReasonUnreachable) {
				t.Errorf("health %+v, want %s", h, tt.reason)
			}
		})
	}
}

// TestDoubt says which failed reads put a cluster in doubt.
func TestDoubt(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"none", t.Context(), nil, 0},
		{"a pod that is not there", t.Context(), apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a"), 0},
		{"a caller that gave up", cancelled, context.Canceled, 0},
		{"a time-out", t.Context(), context.DeadlineExceeded, 1},
		{"a broken connection", t.Context(), errors.New("reset"), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMonitor(nil, clocktesting.NewFakeClock(noon), func() {})
			m.saw(tt.ctx, tt.err)
			m.saw(tt.ctx, tt.err)
			if got := len(m.doubt); got != tt.want {
				t.Errorf("%d doubts, want %d", got, tt.want)
			}
		})
	}
}
