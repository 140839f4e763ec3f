package record

import (
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Events a second, and at once, about reviews that may be made up: whoever makes them up
// must not fill the disk. Those of an API server whose users are refused are fewer.
const (
	madeUpEvents      = 50
	madeUpEventsBurst = 500
)

// Why a review by a caller without credentials was not judged.
const (
	// BeyondAddress: its address asked too often, or has too many under way.
	BeyondAddress = "address"
	// BeyondAll: all of them together asked too often.
	BeyondAll = "all"
	// BeyondRoom: too many of them are judged, or too large ones.
	BeyondRoom = "room"
	// NothingKnown: Sallyport did not know all that it must.
	NothingKnown = "notKnown"
)

// madeUp is what is kept of reviews that may be made up, apart from all others.
type madeUp struct {
	// attempts keep no attempt of others from being counted and recorded.
	attempts *attempts
	events   *rate.Limiter
	reviews  *prometheus.CounterVec
	unjudged *prometheus.CounterVec
}

func newMadeUp() *madeUp {
	return &madeUp{
		attempts: newAttempts(), events: rate.NewLimiter(madeUpEvents, madeUpEventsBurst),
		reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_unauthenticated_reviews_total",
			Help: "Reviews answered to callers that showed no credentials, by decision. No other metric of decisions counts them.",
		}, []string{"decision"}),
		unjudged: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_unauthenticated_unjudged_total",
			Help: "Reviews by callers that showed no credentials and that were not judged, by why: address, all, room, notKnown.",
		}, []string{"why"}),
	}
}

func (m *madeUp) register(registry *prometheus.Registry) {
	registry.MustRegister(m.reviews, m.unjudged)
}

// decidedMadeUp counts an answer to a request that may be made up, and writes an event that
// says so. Events that wait leave half of the room to others.
func (r *Recorder) decidedMadeUp(req *request.Request, d *decision.Decision) {
	r.madeUp.reviews.WithLabelValues(string(d.Verdict)).Inc()
	now := r.now()
	attempt, isNew := r.madeUp.attempts.observe(req, heard(d), d.Refuses(), now)
	if !isNew || r.audit == nil {
		return
	}
	if e := newEvent(req, d, attempt, now); e != nil {
		e.Unauthenticated = true
		if r.madeUp.events.AllowN(now, 1) {
			r.audit.addIfRoom(e)
		} else {
			r.audit.dropped.Inc()
		}
	}
}

// Unjudged records a review that may be made up and was not judged.
func (r *Recorder) Unjudged(why string) { r.madeUp.unjudged.WithLabelValues(why).Inc() }
