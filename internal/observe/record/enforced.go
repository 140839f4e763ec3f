package record

import (
	"maps"

	"github.com/prometheus/client_golang/prometheus"
)

// Enforcement is how many policies of a kind have a status and a reason of the
// condition Enforced.
type Enforcement struct{ Kind, Status, Reason string }

// EnforcedState is what the replica that leads knows of what is enforced.
type EnforcedState struct {
	Policies map[Enforcement]int
	// Ready are the replicas that answer, Behind those of them that have something else
	// in force than the one that leads.
	Ready, Behind int
}

// EnforcedCollector counts the policies that are enforced, and those that are not, and
// replicas. Only the replica that leads knows: for the others state returns false, and
// they have no such series.
func EnforcedCollector(state func() (EnforcedState, bool)) prometheus.Collector {
	return enforcedCollector{state}
}

type enforcedCollector struct{ state func() (EnforcedState, bool) }

var (
	enforcedDesc = prometheus.NewDesc("sallyport_policies_enforced", "Policies by kind, and by status and reason of their condition Enforced, as the replica that leads says it.", []string{"kind", "status", "reason"}, nil)
	replicasDesc = prometheus.NewDesc("sallyport_replicas", "Replicas that answer, by whether they have in force what the one that leads has: current or behind.", []string{"state"}, nil)
)

// Describe implements prometheus.Collector.
func (enforcedCollector) Describe(to chan<- *prometheus.Desc) {
	to <- enforcedDesc
	to <- replicasDesc
}

// Collect implements prometheus.Collector.
func (c enforcedCollector) Collect(to chan<- prometheus.Metric) {
	state, leads := c.state()
	if !leads {
		return
	}
	for e, n := range maps.All(state.Policies) {
		to <- prometheus.MustNewConstMetric(enforcedDesc, prometheus.GaugeValue, float64(n), e.Kind, e.Status, e.Reason)
	}
	to <- prometheus.MustNewConstMetric(replicasDesc, prometheus.GaugeValue, float64(state.Ready-state.Behind), "current")
	to <- prometheus.MustNewConstMetric(replicasDesc, prometheus.GaugeValue, float64(state.Behind), "behind")
}
