package record

import (
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// CertificateState is what is known of the certificates that this program keeps itself.
type CertificateState struct {
	// CAEnds is when the CA ends that signs them; zero where that is not known.
	CAEnds time.Time
	// Made counts what this replica made, by what it is, and Failures what failed.
	Made     map[string]int
	Failures int
}

// CertificateCollector has the end of the CA, and counts what was made and what failed.
func CertificateCollector(state func() CertificateState) prometheus.Collector {
	return certificateCollector{state}
}

type certificateCollector struct{ state func() CertificateState }

var (
	caExpiryDesc            = prometheus.NewDesc("sallyport_certificate_ca_expiry_timestamp_seconds", "When the CA of the server's certificate ends.", nil, nil)
	certificateMadeDesc     = prometheus.NewDesc("sallyport_certificate_made_total", "CAs and certificates that this replica made.", []string{"what"}, nil)
	certificateFailuresDesc = prometheus.NewDesc("sallyport_certificate_failures_total", "Looks at the certificate's Secret and at caBundles that failed.", nil, nil)
)

// Describe implements prometheus.Collector.
func (certificateCollector) Describe(to chan<- *prometheus.Desc) {
	to <- caExpiryDesc
	to <- certificateMadeDesc
	to <- certificateFailuresDesc
}

// Collect implements prometheus.Collector.
func (c certificateCollector) Collect(to chan<- prometheus.Metric) {
	state := c.state()
	if !state.CAEnds.IsZero() {
		to <- prometheus.MustNewConstMetric(caExpiryDesc, prometheus.GaugeValue, float64(state.CAEnds.Unix()))
	}
	for what, n := range maps.All(state.Made) {
		to <- prometheus.MustNewConstMetric(certificateMadeDesc, prometheus.CounterValue, float64(n), what)
	}
	to <- prometheus.MustNewConstMetric(certificateFailuresDesc, prometheus.CounterValue, float64(state.Failures))
}
