package record

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestCertificateCollector says when what happens, and nothing of what is not known.
func TestCertificateCollector(t *testing.T) {
	state := CertificateState{Failures: 2}
	c := CertificateCollector(func() CertificateState { return state })
	const failures = "# HELP sallyport_certificate_failures_total Looks at the certificate's Secret and at caBundles that failed.\n# TYPE sallyport_certificate_failures_total counter\nsallyport_certificate_failures_total 2\n"
	const waiting = "# HELP sallyport_certificate_waiting 1 where something that is due with the certificate cannot be done yet.\n# TYPE sallyport_certificate_waiting gauge\n"
	if err := testutil.CollectAndCompare(c, strings.NewReader(failures+waiting+"sallyport_certificate_waiting 0\n")); err != nil {
		t.Error(err)
	}
	state = CertificateState{CAEnds: time.Unix(2000, 0), NextCAShown: time.Unix(1000, 0), Waits: true, Made: map[string]int{"ca": 1}, Failures: 2}
	const whole = "# HELP sallyport_certificate_ca_expiry_timestamp_seconds When the CA of the server's certificate ends.\n# TYPE sallyport_certificate_ca_expiry_timestamp_seconds gauge\nsallyport_certificate_ca_expiry_timestamp_seconds 2000\n" +
		"# HELP sallyport_certificate_made_total CAs and certificates that this replica made.\n# TYPE sallyport_certificate_made_total counter\nsallyport_certificate_made_total{what=\"ca\"} 1\n" +
		"# HELP sallyport_certificate_next_ca_shown_timestamp_seconds From when on certificates of another CA are shown.\n# TYPE sallyport_certificate_next_ca_shown_timestamp_seconds gauge\nsallyport_certificate_next_ca_shown_timestamp_seconds 1000\n"
	if err := testutil.CollectAndCompare(c, strings.NewReader(whole+failures+waiting+"sallyport_certificate_waiting 1\n")); err != nil {
		t.Error(err)
	}
}
