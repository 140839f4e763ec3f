// Package record keeps what was decided: metrics, and an audit log.
package record

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Bounds of labels: installations that guard more clusters, or factors that more
// capabilities are named for, share one series.
const (
	maxClusters = 256
	maxPolicies = 1024
	maxFactors  = 256
)

// rulePodSecurity is the rule of a DenyPolicy whose results are about the risk
// of a pod.
const rulePodSecurity = "podSecurityRules"

// Recorder counts decisions and writes audit events. It is safe for concurrent
// use, and never waits for anything.
type Recorder struct {
	registry *prometheus.Registry
	metrics  *metrics
	attempts *attempts
	madeUp   *madeUp
	audit    *AuditLog
	now      func() time.Time

	clusters, policies, factors *labels
}

// Options are what a Recorder is made of.
type Options struct {
	// Audit is where events go; nil if nobody wants them.
	Audit *AuditLog
	// Policies says which policies are in force; nil if there are none to show.
	Policies func() PolicyState
	// Exceptions counts exceptions and requests; nil if there are none to show.
	Exceptions func() []ExceptionCount
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// New makes a Recorder with a metrics registry of its own.
func New(o Options) *Recorder {
	r := &Recorder{
		registry: prometheus.NewRegistry(), metrics: newMetrics(), attempts: newAttempts(), madeUp: newMadeUp(),
		audit: o.Audit, now: o.Now,
		clusters: newLabels(maxClusters), policies: newLabels(maxPolicies), factors: newLabels(maxFactors),
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.metrics.register(r.registry)
	r.madeUp.register(r.registry)
	if o.Audit != nil {
		r.registry.MustRegister(o.Audit)
	}
	if o.Policies != nil {
		r.registry.MustRegister(policyCollector{o.Policies})
	}
	if o.Exceptions != nil {
		r.registry.MustRegister(exceptionCollector{o.Exceptions})
	}
	return r
}

// Registry holds all metrics; whoever has further ones adds them there.
func (r *Recorder) Registry() *prometheus.Registry { return r.registry }

// Decided records the answer to a request, which took that long. Neither may be
// changed afterwards.
func (r *Recorder) Decided(req *request.Request, d *decision.Decision, took time.Duration) {
	if req.Unauthenticated {
		r.decidedMadeUp(req, d)
		return
	}
	r.metrics.requests.WithLabelValues(string(req.Door), operationLabel(req), string(d.Verdict)).Inc()
	r.metrics.duration.WithLabelValues(string(req.Door)).Observe(took.Seconds())
	r.countWouldDeny(req, d)
	now := r.now()
	attempt, isNew := r.attempts.observe(req, heard(d), d.Refuses(), now)
	if !isNew {
		return
	}
	r.countRisk(req, d)
	r.countExcused(d)
	if r.audit == nil {
		return
	}
	if e := newEvent(req, d, attempt, now); e != nil {
		r.audit.Add(e)
	}
}

// Bad records a request that was answered with an HTTP status instead of a
// review.
func (r *Recorder) Bad(door request.Door, status int) {
	r.metrics.bad.WithLabelValues(string(door), strconv.Itoa(status)).Inc()
}

// Panicked records that the program failed while it judged a request.
func (r *Recorder) Panicked(door request.Door) {
	r.metrics.panics.WithLabelValues(string(door)).Inc()
}

// Overloaded records a request that found no free place.
func (r *Recorder) Overloaded(door request.Door) {
	r.metrics.overloaded.WithLabelValues(string(door)).Inc()
}

// NotKnown records a request that was not judged, as not all was known that must
// be.
func (r *Recorder) NotKnown(door request.Door) {
	r.metrics.notKnown.WithLabelValues(string(door)).Inc()
}

// countExcused counts what exceptions excused.
func (r *Recorder) countExcused(d *decision.Decision) {
	for i := range d.Results {
		result := &d.Results[i]
		if len(result.Exceptions) == 0 {
			continue
		}
		policy := r.policies.value(result.Policy)
		for j := range result.Exceptions {
			r.metrics.excused.WithLabelValues(policy, result.Exceptions[j].Kind).Inc()
		}
	}
}

// countWouldDeny counts the policies that would have refused a request that was let in, each
// once.
func (r *Recorder) countWouldDeny(req *request.Request, d *decision.Decision) {
	type policy struct{ kind, name string }
	if d.Refuses() {
		return
	}
	var counted []policy
	for i := range d.Results {
		result := &d.Results[i]
		one := policy{result.Kind, result.PolicyName()}
		if !result.WouldDeny || slices.Contains(counted, one) {
			continue
		}
		counted = append(counted, one)
		r.metrics.wouldDeny.WithLabelValues(string(req.Door), one.kind, r.policies.value(one.name)).Inc()
	}
}

// countRisk counts the results that judged a pod's risk. A factor counts once a
// decision, however many policies weigh it.
func (r *Recorder) countRisk(req *request.Request, d *decision.Decision) {
	var counted []string
	cluster := ""
	for i := range d.Results {
		result := &d.Results[i]
		if result.Kind != "DenyPolicy" || result.Rule != rulePodSecurity || result.Exempt != "" {
			continue
		}
		if cluster == "" {
			cluster = r.clusters.value(req.ClusterName)
		}
		policy := r.policies.value(result.Policy)
		switch {
		case result.Blocks():
			r.metrics.evaluations.WithLabelValues(cluster, policy, actionDenied).Inc()
			r.metrics.denied.WithLabelValues(cluster, policy).Inc()
		case result.Warns():
			r.metrics.evaluations.WithLabelValues(cluster, policy, actionWarned).Inc()
			r.metrics.warnings.WithLabelValues(cluster, policy).Inc()
		default:
			r.metrics.evaluations.WithLabelValues(cluster, policy, actionAllowed).Inc()
		}
		if result.Score != nil {
			r.metrics.riskScore.WithLabelValues(cluster).Observe(float64(*result.Score))
		}
		for _, factor := range result.Factors {
			if !slices.Contains(counted, factor) {
				counted = append(counted, factor)
				r.metrics.factors.WithLabelValues(cluster, r.factors.value(factor)).Inc()
			}
		}
	}
}

// operationLabel is the operation of an admission request or the verb of a
// review; verbs that the API server does not send of itself are taken together.
func operationLabel(req *request.Request) string {
	if req.Door == request.Admission {
		return string(req.Operation)
	}
	switch req.Verb {
	case "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection":
		return req.Verb
	default:
		return otherLabel
	}
}
