package record

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PolicyState says which policies are in force.
type PolicyState struct {
	// Policies in force, by kind.
	Policies map[string]int
	// Broken are objects that cannot work, and that no earlier version stands in for,
	// by kind.
	Broken map[string]int
	// Loaded is when they were put in force; zero if none ever were.
	Loaded time.Time
	// Failures counts the changes that were refused.
	Failures int
}

// policyCollector reads the state of the policies whenever metrics are asked
// for, so that no loader has to remember to tell.
type policyCollector struct {
	state func() PolicyState
}

var (
	policiesDesc = prometheus.NewDesc("sallyport_policies", "Policies in force, by kind.", []string{"kind"}, nil)
	brokenDesc   = prometheus.NewDesc("sallyport_policies_broken", "Objects of the API server that cannot work, by kind; what they are about is answered by their fail modes.", []string{"kind"}, nil)
	loadedDesc   = prometheus.NewDesc("sallyport_policies_loaded_timestamp_seconds", "When the policies in force were loaded.", nil, nil)
	failuresDesc = prometheus.NewDesc("sallyport_policy_reload_failures_total", "Changes of policies that were refused, because a policy could not do what it says.", nil, nil)
)

// Describe implements prometheus.Collector.
func (policyCollector) Describe(to chan<- *prometheus.Desc) {
	to <- policiesDesc
	to <- brokenDesc
	to <- loadedDesc
	to <- failuresDesc
}

// Collect implements prometheus.Collector.
func (c policyCollector) Collect(to chan<- prometheus.Metric) {
	state := c.state()
	for kind, n := range state.Policies {
		to <- prometheus.MustNewConstMetric(policiesDesc, prometheus.GaugeValue, float64(n), kind)
	}
	for kind, n := range state.Broken {
		to <- prometheus.MustNewConstMetric(brokenDesc, prometheus.GaugeValue, float64(n), kind)
	}
	if !state.Loaded.IsZero() {
		to <- prometheus.MustNewConstMetric(loadedDesc, prometheus.GaugeValue, float64(state.Loaded.UnixNano())/1e9)
	}
	to <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(state.Failures))
}

// ExceptionCount is how many objects of a kind about exceptions are in a state.
type ExceptionCount struct {
	Kind, State string
	Count       int
}

// exceptionCollector counts exceptions whenever metrics are asked for: they
// expire without anything happening.
type exceptionCollector struct{ counts func() []ExceptionCount }

var exceptionsDesc = prometheus.NewDesc("sallyport_exceptions", "Exceptions, and requests for them, by kind and state.", []string{"kind", "state"}, nil)

// Describe implements prometheus.Collector.
func (exceptionCollector) Describe(to chan<- *prometheus.Desc) { to <- exceptionsDesc }

// Collect implements prometheus.Collector.
func (c exceptionCollector) Collect(to chan<- prometheus.Metric) {
	for _, one := range c.counts() {
		to <- prometheus.MustNewConstMetric(exceptionsDesc, prometheus.GaugeValue, float64(one.Count), one.Kind, one.State)
	}
}

// ClusterState is how one of the further clusters is.
type ClusterState struct {
	Name string
	// Up is set where its API server answered the last health check.
	Up bool
	// LastContact is zero if it never did.
	LastContact time.Time
	// Busy and Unreachable count the reads that were not made: because too many were
	// under way, and because the cluster did not answer its last health check.
	Busy, Unreachable uint64
}

// ClusterCollector shows further clusters: the first of them, as many as other
// metrics have labels for.
func ClusterCollector(states func() []ClusterState) prometheus.Collector {
	return clusterCollector{states}
}

type clusterCollector struct{ states func() []ClusterState }

var (
	clusterUpDesc      = prometheus.NewDesc("sallyport_cluster_up", "Whether the API server of a further cluster answered the last health check.", []string{"cluster"}, nil)
	clusterContactDesc = prometheus.NewDesc("sallyport_cluster_last_contact_timestamp_seconds", "When the API server of a further cluster last answered a health check.", []string{"cluster"}, nil)
	clusterRefusedDesc = prometheus.NewDesc("sallyport_cluster_reads_refused_total", "Reads of a further cluster that were not made, by reason: busy, unreachable.", []string{"cluster", "reason"}, nil)
)

// Describe implements prometheus.Collector.
func (clusterCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{clusterUpDesc, clusterContactDesc, clusterRefusedDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c clusterCollector) Collect(to chan<- prometheus.Metric) {
	states := c.states()
	for i := range states[:min(len(states), maxClusters)] {
		s := &states[i]
		up := 0.0
		if s.Up {
			up = 1
		}
		to <- prometheus.MustNewConstMetric(clusterUpDesc, prometheus.GaugeValue, up, s.Name)
		if !s.LastContact.IsZero() {
			to <- prometheus.MustNewConstMetric(clusterContactDesc, prometheus.GaugeValue, float64(s.LastContact.Unix()), s.Name)
		}
		to <- prometheus.MustNewConstMetric(clusterRefusedDesc, prometheus.CounterValue, float64(s.Busy), s.Name, "busy")
		to <- prometheus.MustNewConstMetric(clusterRefusedDesc, prometheus.CounterValue, float64(s.Unreachable), s.Name, "unreachable")
	}
}

// ScanState is what the last background scan of this replica came to.
type ScanState struct {
	// Finished is zero before the first.
	Finished time.Time
	Took     time.Duration
	Objects  int
	Results  []ScanResults
	// Failures counts what could not be scanned, over all scans.
	Failures int
}

// ScanResults is how many results of a policy have a status.
type ScanResults struct {
	Kind, Policy, Status string
	Count                int
}

// ScanCollector shows the state of background scans. The labels are those of
// policies that are in force, and so bounded by them.
func ScanCollector(state func() ScanState) prometheus.Collector { return scanCollector{state} }

type scanCollector struct{ state func() ScanState }

var (
	scanResultsDesc  = prometheus.NewDesc("sallyport_scan_results", "Results of the last background scan, by policy and status: pass, fail, warn, skip, error.", []string{"kind", "policy", "status"}, nil)
	scanObjectsDesc  = prometheus.NewDesc("sallyport_scan_objects", "Objects that the last background scan judged.", nil, nil)
	scanTookDesc     = prometheus.NewDesc("sallyport_scan_duration_seconds", "Time that the last background scan took.", nil, nil)
	scanFinishedDesc = prometheus.NewDesc("sallyport_scan_finished_timestamp_seconds", "When the last background scan ended.", nil, nil)
	scanFailuresDesc = prometheus.NewDesc("sallyport_scan_failures_total", "Kinds, objects and reports that background scans could not read, judge or write.", nil, nil)
)

// Describe implements prometheus.Collector.
func (scanCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{scanResultsDesc, scanObjectsDesc, scanTookDesc, scanFinishedDesc, scanFailuresDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c scanCollector) Collect(to chan<- prometheus.Metric) {
	state := c.state()
	to <- prometheus.MustNewConstMetric(scanFailuresDesc, prometheus.CounterValue, float64(state.Failures))
	if state.Finished.IsZero() {
		return
	}
	for _, r := range state.Results {
		to <- prometheus.MustNewConstMetric(scanResultsDesc, prometheus.GaugeValue, float64(r.Count), r.Kind, r.Policy, r.Status)
	}
	to <- prometheus.MustNewConstMetric(scanObjectsDesc, prometheus.GaugeValue, float64(state.Objects))
	to <- prometheus.MustNewConstMetric(scanTookDesc, prometheus.GaugeValue, state.Took.Seconds())
	to <- prometheus.MustNewConstMetric(scanFinishedDesc, prometheus.GaugeValue, float64(state.Finished.UnixNano())/1e9)
}
