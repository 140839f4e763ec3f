package record

import "github.com/prometheus/client_golang/prometheus"

// ContextState is what policies read beside requests.
type ContextState struct {
	// Denied counts what was refused to them. Whoever fills it bounds how many
	// policies and resources there are.
	Denied []ContextDenials
	// Bytes is what the copies of resources take.
	Bytes int64
	// Copies are the resources that are watched.
	Copies []ContextCopy
}

// ContextDenials counts what was refused to one policy of one resource.
type ContextDenials struct {
	Policy, Resource string
	Count            int64
}

// ContextCopy is the copy of one resource.
type ContextCopy struct {
	Resource, Version string
	Objects           int
	// Synced: it is whole, and the last attempt to read or watch succeeded.
	Synced bool
}

// ContextCollector shows what policies read beside requests.
func ContextCollector(state func() ContextState) prometheus.Collector {
	return contextCollector{state}
}

type contextCollector struct{ state func() ContextState }

var (
	contextDeniedDesc  = prometheus.NewDesc("sallyport_context_denied_total", "Reads and other calls that were refused to a policy, as they were not granted to it, by policy and resource.", []string{"policy", "resource"}, nil)
	contextBytesDesc   = prometheus.NewDesc("sallyport_context_bytes", "Memory that the copies of the resources take which policies were granted, with the answers that are kept.", nil, nil)
	contextWatchesDesc = prometheus.NewDesc("sallyport_context_watches", "Resources that are watched because a policy was granted them.", nil, nil)
	contextObjectsDesc = prometheus.NewDesc("sallyport_context_objects", "Objects in the copy of a resource that policies were granted.", []string{"resource", "version"}, nil)
	contextSyncedDesc  = prometheus.NewDesc("sallyport_context_synced", "Whether the copy of a resource is whole and being kept up to date: 1 or 0.", []string{"resource", "version"}, nil)
)

// Describe implements prometheus.Collector.
func (contextCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{contextDeniedDesc, contextBytesDesc, contextWatchesDesc, contextObjectsDesc, contextSyncedDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c contextCollector) Collect(to chan<- prometheus.Metric) {
	state := c.state()
	for _, d := range state.Denied {
		to <- prometheus.MustNewConstMetric(contextDeniedDesc, prometheus.CounterValue, float64(d.Count), d.Policy, d.Resource)
	}
	to <- prometheus.MustNewConstMetric(contextBytesDesc, prometheus.GaugeValue, float64(state.Bytes))
	to <- prometheus.MustNewConstMetric(contextWatchesDesc, prometheus.GaugeValue, float64(len(state.Copies)))
	for _, one := range state.Copies {
		synced := 0.0
		if one.Synced {
			synced = 1
		}
		to <- prometheus.MustNewConstMetric(contextObjectsDesc, prometheus.GaugeValue, float64(one.Objects), one.Resource, one.Version)
		to <- prometheus.MustNewConstMetric(contextSyncedDesc, prometheus.GaugeValue, synced, one.Resource, one.Version)
	}
}
