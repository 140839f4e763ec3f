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
	// NextCAShown is from when on certificates of another CA are shown; zero where none is
	// foreseen.
	NextCAShown time.Time
	// Waits is set where something that is due cannot be done yet.
	Waits bool
	// Made counts what this replica made, by what it is, and Failures what failed.
	Made     map[string]int
	Failures int
}

// CertificateCollector has when the CA ends, from when on another is used and whether
// something waits, and counts what was made and what failed.
func CertificateCollector(state func() CertificateState) prometheus.Collector {
	return certificateCollector{state}
}

type certificateCollector struct{ state func() CertificateState }

var (
	caExpiryDesc            = prometheus.NewDesc("sallyport_certificate_ca_expiry_timestamp_seconds", "When the CA of the server's certificate ends.", nil, nil)
	nextCADesc              = prometheus.NewDesc("sallyport_certificate_next_ca_shown_timestamp_seconds", "From when on certificates of another CA are shown.", nil, nil)
	certificateWaitsDesc    = prometheus.NewDesc("sallyport_certificate_waiting", "1 where something that is due with the certificate cannot be done yet.", nil, nil)
	certificateMadeDesc     = prometheus.NewDesc("sallyport_certificate_made_total", "CAs and certificates that this replica made.", []string{"what"}, nil)
	certificateFailuresDesc = prometheus.NewDesc("sallyport_certificate_failures_total", "Looks at the certificate's Secret and at caBundles that failed.", nil, nil)
)

// Describe implements prometheus.Collector.
func (certificateCollector) Describe(to chan<- *prometheus.Desc) {
	to <- caExpiryDesc
	to <- nextCADesc
	to <- certificateWaitsDesc
	to <- certificateMadeDesc
	to <- certificateFailuresDesc
}

// Collect implements prometheus.Collector.
func (c certificateCollector) Collect(to chan<- prometheus.Metric) {
	state := c.state()
	if !state.CAEnds.IsZero() {
		to <- prometheus.MustNewConstMetric(caExpiryDesc, prometheus.GaugeValue, float64(state.CAEnds.Unix()))
	}
	if !state.NextCAShown.IsZero() {
		to <- prometheus.MustNewConstMetric(nextCADesc, prometheus.GaugeValue, float64(state.NextCAShown.Unix()))
	}
	waits := 0.0
	if state.Waits {
		waits = 1
	}
	to <- prometheus.MustNewConstMetric(certificateWaitsDesc, prometheus.GaugeValue, waits)
	for what, n := range maps.All(state.Made) {
		to <- prometheus.MustNewConstMetric(certificateMadeDesc, prometheus.CounterValue, float64(n), what)
	}
	to <- prometheus.MustNewConstMetric(certificateFailuresDesc, prometheus.CounterValue, float64(state.Failures))
}
