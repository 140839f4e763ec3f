package record

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sallyport-io/sallyport/internal/watch/known"
)

// Knowledge says how the facts stand that must be known before requests of a
// cluster are judged; Cluster is empty for those that all clusters need.
type Knowledge struct {
	Cluster string
	Facts   []known.Named
}

// KnownCollector has a series for each fact that must be known.
func KnownCollector(facts func() []Knowledge) prometheus.Collector { return knownCollector{facts} }

type knownCollector struct{ facts func() []Knowledge }

var (
	knownDesc      = prometheus.NewDesc("sallyport_known", "Whether a fact is known without which nothing is judged: 1 or 0.", []string{"cluster", "fact"}, nil)
	knownSinceDesc = prometheus.NewDesc("sallyport_known_heard_timestamp_seconds", "When a fact was last heard of; for one that is not known, since when it is not.", []string{"cluster", "fact"}, nil)
)

// Describe implements prometheus.Collector.
func (knownCollector) Describe(to chan<- *prometheus.Desc) {
	to <- knownDesc
	to <- knownSinceDesc
}

// Collect implements prometheus.Collector.
func (c knownCollector) Collect(to chan<- prometheus.Metric) {
	for _, k := range c.facts() {
		for _, f := range k.Facts {
			value := 0.0
			if f.State == known.Known {
				value = 1
			}
			to <- prometheus.MustNewConstMetric(knownDesc, prometheus.GaugeValue, value, k.Cluster, f.Name)
			to <- prometheus.MustNewConstMetric(knownSinceDesc, prometheus.GaugeValue, float64(f.Since.UnixNano())/1e9, k.Cluster, f.Name)
		}
	}
}
