package record

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// The values of the label action.
const (
	actionAllowed = "allowed"
	actionWarned  = "warned"
	actionDenied  = "denied"
)

// metrics are those of decisions. The first five are the ones that the document
// "Pod Security Risk Classification" names.
type metrics struct {
	evaluations *prometheus.CounterVec
	riskScore   *prometheus.HistogramVec
	factors     *prometheus.CounterVec
	denied      *prometheus.CounterVec
	warnings    *prometheus.CounterVec

	requests   *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	bad        *prometheus.CounterVec
	panics     *prometheus.CounterVec
	overloaded *prometheus.CounterVec
	notKnown   *prometheus.CounterVec
	excused    *prometheus.CounterVec
	wouldDeny  *prometheus.CounterVec

	transitions *prometheus.CounterVec
}

func newMetrics() *metrics {
	return &metrics{
		evaluations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_pod_security_evaluations_total",
			Help: "Evaluations of a pod's risk by the action taken: allowed, warned, denied. One attempt of a user counts once.",
		}, []string{"cluster", "policy", "action"}),
		riskScore: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "sallyport_pod_security_risk_score",
			Help:    "Risk scores of pods that somebody tried to get into.",
			Buckets: []float64{10, 30, 50, 70, 90, 100, 150, 200},
		}, []string{"cluster"}),
		factors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_pod_security_factors_total",
			Help: "Risk factors found in pods that somebody tried to get into.",
		}, []string{"cluster", "factor"}),
		denied: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_pod_security_denied_total",
			Help: "Attempts to get into a pod that were denied for its risk.",
		}, []string{"cluster", "policy"}),
		warnings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_pod_security_warnings_total",
			Help: "Attempts to get into a pod that were let through with a warning about its risk.",
		}, []string{"cluster", "policy"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_requests_total",
			Help: "Reviews answered, by door, operation or verb, and decision: allow, warn, deny, error, wouldDeny.",
		}, []string{"door", "operation", "decision"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sallyport_request_duration_seconds",
			Help: "Time from a review's headers being read to its answer being made, by door.",
			// A decision from memory takes tens of microseconds, one that reads a
			// pod milliseconds, and none may take as long as the API server waits.
			Buckets: []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10},
		}, []string{"door"}),
		bad: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_bad_requests_total",
			Help: "Requests that were not judged, by door and HTTP status.",
		}, []string{"door", "code"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_panics_total",
			Help: "Requests during which the program failed, and which were refused for that.",
		}, []string{"door"}),
		overloaded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_overloaded_total",
			Help: "Requests that found no free place: turned away, or decided at once by the fail modes of the policies.",
		}, []string{"door"}),
		notKnown: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_not_known_total",
			Help: "Requests that were not judged, as Sallyport did not know all that it must: refused, or answered with HTTP 503 at the paths under /ignore.",
		}, []string{"door"}),
		excused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_exceptions_used_total",
			Help: "Failures of rules that an exception excused, by the policy and the kind of the exception. One attempt of a user counts once.",
		}, []string{"policy", "kind"}),
		wouldDeny: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_would_deny_total",
			Help: "Requests that a policy would have refused, and that were let in as it, or the installation, only observes, by door and by the kind and name of the policy.",
		}, []string{"door", "kind", "policy"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_breakglass_transitions_total",
			Help: "States that breakglass sessions came into, counted by the replica that writes.",
		}, []string{"state"}),
	}
}

func (m *metrics) register(registry *prometheus.Registry) {
	registry.MustRegister(
		m.evaluations, m.riskScore, m.factors, m.denied, m.warnings,
		m.requests, m.duration, m.bad, m.panics, m.overloaded, m.notKnown, m.excused, m.wouldDeny, m.transitions,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
}

// labels bounds the values of one label: the first that are seen stand for
// themselves, all further ones for "other". A caller that makes up names cannot
// fill the memory here, nor in whatever scrapes.
type labels struct {
	mu    sync.RWMutex
	seen  map[string]struct{}
	limit int
}

const otherLabel = "other"

func newLabels(limit int) *labels {
	return &labels{seen: map[string]struct{}{}, limit: limit}
}

func (l *labels) value(name string) string {
	l.mu.RLock()
	_, ok := l.seen[name]
	full := len(l.seen) >= l.limit
	l.mu.RUnlock()
	switch {
	case ok:
		return name
	case full:
		return otherLabel
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) >= l.limit {
		return otherLabel
	}
	l.seen[name] = struct{}{}
	return name
}
