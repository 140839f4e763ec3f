package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

// Times of health checks.
const (
	// checkEvery is how often a cluster that answers is asked.
	checkEvery = 10 * time.Second
	// firstPause is how long after a failed check the next one is made; each further
	// failure doubles it, up to longestPause.
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// The reasons of a cluster's state.
const (
	ReasonConnected    = "Connected"
	ReasonNotAsked     = "NotAsked"
	ReasonUnreachable  = "Unreachable"
	ReasonUnauthorized = "Unauthorized"
	ReasonForbidden    = "Forbidden"
	// ReasonNotKnown is that of a cluster that answers, and of which not all is known
	// that must be.
	ReasonNotKnown = "NotKnown"
)

// Health is how a cluster answered its last check.
type Health struct {
	Reason, Message string
	// LastContact is when its API server last answered; zero if it never did.
	LastContact time.Time
	// Since is when it stopped to answer; zero where it answers.
	Since time.Time
}

// Ready reports whether the cluster can be judged by.
func (h *Health) Ready() bool { return h.Reason == ReasonConnected }

// monitor asks a cluster how it is, and keeps the answer.
type monitor struct {
	ask   func(context.Context) error
	clock clock.WithTicker
	// told is called when the health changed in more than the time.
	told func()

	health atomic.Pointer[Health]
	// doubt has a check made soon, since a read failed.
	doubt chan struct{}
}

func newMonitor(ask func(context.Context) error, clock clock.WithTicker, told func()) *monitor {
	m := &monitor{ask: ask, clock: clock, told: told, doubt: make(chan struct{}, 1)}
	m.health.Store(&Health{Reason: ReasonNotAsked, Message: "the cluster has not been asked yet"})
	return m
}

// run asks until ctx ends.
func (m *monitor) run(ctx context.Context) {
	pause := firstPause
	for {
		if m.check(ctx); ctx.Err() != nil {
			return
		}
		if m.outage() == nil {
			pause = firstPause
			if !m.wait(ctx, firstPause, nil) || !m.wait(ctx, checkEvery-firstPause, m.doubt) {
				return
			}
			continue
		}
		if !m.wait(ctx, pause, nil) {
			return
		}
		pause = min(2*pause, longestPause)
	}
}

// wait waits for a time, or for less if something comes from hurry. It reports
// false when ctx has ended.
func (m *monitor) wait(ctx context.Context, pause time.Duration, hurry <-chan struct{}) bool {
	timer := m.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
	case <-hurry:
	}
	return ctx.Err() == nil
}

// check asks once.
func (m *monitor) check(ctx context.Context) {
	err := m.ask(ctx)
	if ctx.Err() != nil {
		return
	}
	before, now := m.health.Load(), m.clock.Now()
	after := &Health{LastContact: now, Reason: ReasonConnected, Message: "the cluster's API server answers"}
	switch {
	case err == nil:
	case apierrors.IsUnauthorized(err):
		after.Reason, after.Message = ReasonUnauthorized, "the API server does not know whoever the kubeconfig says that asks: "+err.Error()
	case apierrors.IsForbidden(err):
		after.Reason, after.Message = ReasonForbidden, "the account of the kubeconfig may not read namespaces, and so most likely lacks more of what it needs: "+err.Error()
	case isOutage(err):
		after.Reason, after.Message, after.LastContact, after.Since = ReasonUnreachable, err.Error(), before.LastContact, before.Since
		if after.Since.IsZero() {
			after.Since = now
		}
	}
	m.health.Store(after)
	if before.Reason != after.Reason {
		m.told()
	}
}

// outage is the health of a cluster that does not answer; nil for any other.
func (m *monitor) outage() *Health {
	if h := m.health.Load(); h.Reason == ReasonUnreachable {
		return h
	}
	return nil
}

// saw takes note of how a read ended: one that failed as those of a cluster that
// is away do has the cluster checked.
func (m *monitor) saw(ctx context.Context, err error) {
	if err == nil || errors.Is(ctx.Err(), context.Canceled) || !isOutage(err) {
		return
	}
	select {
	case m.doubt <- struct{}{}:
	default:
	}
}

// isOutage reports whether an error says that nobody answers who could: no
// connection, no answer in time, or an answer of 5xx. An API server that says no,
// or that it is asked too much, is there.
func isOutage(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == 0 || code >= http.StatusInternalServerError
	}
	return true
}

// ErrUnreachable is the error of reads of a cluster that did not answer its last
// health check.
var ErrUnreachable = errors.New("its API server did not answer the last health check")

func (h *Health) failure(id string) error {
	return fmt.Errorf("cluster %s is not read, as %w: %s", id, ErrUnreachable, h.Message)
}
