package record

import (
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm"
)

// Modules counts what the modules of policies do, and logs what they say. It is a
// wasm.Observer.
type Modules struct {
	log      logr.Logger
	policies *labels

	duration  *prometheus.HistogramVec
	failures  *prometheus.CounterVec
	hostCalls *prometheus.CounterVec
	instances *prometheus.CounterVec
	dropped   *prometheus.CounterVec
}

var _ wasm.Observer = (*Modules)(nil)

// NewModules makes a Modules whose metrics are in the registry.
func NewModules(registry *prometheus.Registry, log logr.Logger) *Modules {
	m := &Modules{
		log: log, policies: newLabels(maxPolicies),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "sallyport_module_evaluation_seconds",
			Help:    "Time that the module of a policy took for one evaluation, by policy and operation.",
			Buckets: []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10},
		}, []string{"policy", "operation"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_module_failures_total",
			Help: "Evaluations in which the module of a policy came to no answer, by policy and reason: trap, exit, deadline, canceled, limit, guest, answer, input, host.",
		}, []string{"policy", "reason"}),
		hostCalls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_module_host_calls_total",
			Help: "Calls that the modules of policies made to their host, by policy, operation and outcome: answered, failed.",
		}, []string{"policy", "operation", "outcome"}),
		instances: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_module_instances_total",
			Help: "Instances that were made of the modules of policies, by module.",
		}, []string{"module"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_module_log_lines_dropped_total",
			Help: "Lines that the modules of policies wrote and that were too many to log, by policy.",
		}, []string{"policy"}),
	}
	registry.MustRegister(m.duration, m.failures, m.hostCalls, m.instances, m.dropped)
	return m
}

// Evaluated counts an evaluation.
func (m *Modules) Evaluated(policy, operation string, took time.Duration, reason wasm.Reason) {
	policy = m.policies.value(policy)
	m.duration.WithLabelValues(policy, operation).Observe(took.Seconds())
	if reason != "" {
		m.failures.WithLabelValues(policy, string(reason)).Inc()
	}
}

// HostCalled counts a call of a module. What it called something is its own choice,
// so calls that nobody knows share one name.
func (m *Modules) HostCalled(policy string, call wasm.Call, _ time.Duration, err error) {
	operation, outcome := "unknown", "answered"
	if known, findErr := (hostcall.Call{Binding: call.Binding, Namespace: call.Namespace, Operation: call.Operation}).Find(); findErr == nil {
		operation = string(known)
	}
	if err != nil {
		outcome = "failed"
	}
	m.hostCalls.WithLabelValues(m.policies.value(policy), operation, outcome).Inc()
}

// Logged logs a line that a module wrote.
func (m *Modules) Logged(policy string, stream wasm.Stream, line string) {
	m.log.Info("module", "policy", policy, "stream", string(stream), "line", line)
}

// Dropped counts lines that were too many.
func (m *Modules) Dropped(policy string, lines int) {
	m.dropped.WithLabelValues(m.policies.value(policy)).Add(float64(lines))
}

// Instantiated counts an instance.
func (m *Modules) Instantiated(module string, _ time.Duration) {
	m.instances.WithLabelValues(m.policies.value(module)).Inc()
}
