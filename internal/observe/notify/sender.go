package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Options are what a Sender is made of.
type Options struct {
	Targets []*Target
	// Source names this installation in CloudEvents.
	Source string
	// Queue is how many events wait for each target; DefaultQueue if it is zero.
	Queue int
	// GiveUp is how long an event is tried; DefaultGiveUp if it is zero.
	GiveUp time.Duration
	// Transport is http.DefaultTransport where it is nil.
	Transport http.RoundTripper
	Clock     clock.WithTicker
	// Jitter gives a number from 0 to 1; nil for a random one.
	Jitter func() float64
	Log    logr.Logger
}

// The defaults of Options, and the times of a sender.
const (
	DefaultQueue  = 1000
	DefaultGiveUp = time.Hour

	attemptTimeout = 10 * time.Second
	firstRetry     = time.Second
	longestRetry   = 5 * time.Minute
)

// Sender tells targets. It is safe for concurrent use.
type Sender struct {
	options Options
	client  *http.Client
	queues  []*queue
	sent    *prometheus.CounterVec
}

// queue is what waits for one target.
type queue struct {
	*Target
	events chan Event

	mu      sync.Mutex
	dropped int
}

// New makes a Sender. Nothing is sent before Run.
func New(o Options) *Sender {
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	if o.GiveUp == 0 {
		o.GiveUp = DefaultGiveUp
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	s := &Sender{
		options: o,
		client: &http.Client{
			Transport: o.Transport, Timeout: attemptTimeout,
			// A message goes where the administrator said, or nowhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_notifications_total",
			Help: "Notifications about breakglass sessions, by target and outcome: sent, retried, failed (given up), dropped (the queue was full).",
		}, []string{"target", "outcome"}),
	}
	for _, t := range o.Targets {
		s.queues = append(s.queues, &queue{Target: t, events: make(chan Event, o.Queue)})
		for _, outcome := range []string{"sent", "retried", "failed", "dropped"} {
			s.sent.WithLabelValues(t.Name, outcome)
		}
	}
	return s
}

// Metrics are those of the sender.
func (s *Sender) Metrics() prometheus.Collector { return s.sent }

// Notify has all targets told that want to know. It returns at once: where a queue
// is full, the event is dropped, which is logged, counted, and said in the next
// message that gets through.
func (s *Sender) Notify(e Event) {
	for _, q := range s.queues {
		if !q.wants(&e) {
			continue
		}
		select {
		case q.events <- e:
		default:
			q.mu.Lock()
			q.dropped++
			q.mu.Unlock()
			s.sent.WithLabelValues(q.Name, "dropped").Inc()
			s.options.Log.Error(errFull, "a notification was dropped", "target", q.Name, "event", e.ID, "type", e.Type, "session", e.Session)
		}
	}
}

var errFull = errors.New("the queue of the target is full")

// Run sends until ctx ends. What waits then is not sent.
func (s *Sender) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	for _, q := range s.queues {
		workers.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case e := <-q.events:
					s.deliver(ctx, q, &e)
				}
			}
		})
	}
	workers.Wait()
	return nil
}

// deliver sends an event until it is accepted or given up.
func (s *Sender) deliver(ctx context.Context, q *queue, e *Event) {
	began, wait := s.options.Clock.Now(), firstRetry
	for attempt := 1; ; attempt++ {
		again, err := s.attempt(ctx, q, e)
		if err == nil {
			s.sent.WithLabelValues(q.Name, "sent").Inc()
			return
		}
		if ctx.Err() != nil {
			return
		}
		log := s.options.Log.WithValues("target", q.Name, "event", e.ID, "type", e.Type, "session", e.Session, "attempt", attempt)
		if !again || s.options.Clock.Now().Sub(began) >= s.options.GiveUp {
			q.mu.Lock()
			q.dropped++
			q.mu.Unlock()
			s.sent.WithLabelValues(q.Name, "failed").Inc()
			log.Error(err, "a notification was given up")
			return
		}
		s.sent.WithLabelValues(q.Name, "retried").Inc()
		log.V(1).Info("a notification is tried again", "error", err.Error(), "wait", wait)
		select {
		case <-ctx.Done():
			return
		// Half of the time at least, so that many senders do not come back at once.
		case <-s.options.Clock.After(wait/2 + time.Duration(float64(wait/2)*s.options.Jitter())):
		}
		wait = min(2*wait, longestRetry)
	}
}

// attempt sends an event once. again says that it may be accepted another time.
func (s *Sender) attempt(ctx context.Context, q *queue, e *Event) (again bool, err error) {
	q.mu.Lock()
	dropped := q.dropped
	q.mu.Unlock()
	body, mediaType, err := q.Format.write(e, s.options.Source, dropped)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, q.URL, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the address is not a URL")
	}
	request.Header.Set("Content-Type", mediaType)
	request.Header.Set("User-Agent", "sallyport")
	request.Header.Set("Idempotency-Key", e.ID)
	if len(q.secret) > 0 {
		request.Header.Set(SignatureHeader, Sign(q.secret, body, s.options.Clock.Now()))
	}
	response, err := s.client.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			// The address may be a secret.
			err = wrapped.Err
		}
		return true, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	switch status := response.StatusCode; {
	case status >= 200 && status < 300:
		q.mu.Lock()
		q.dropped -= dropped
		q.mu.Unlock()
		return false, nil
	case status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout:
		return true, fmt.Errorf("the target answered %s", response.Status)
	default:
		return false, fmt.Errorf("the target answered %s, which trying again does not change", response.Status)
	}
}
