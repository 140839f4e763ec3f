package serve

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/controller/certificate"
	"github.com/sallyport-io/sallyport/internal/controller/replicas"
)

// TestOpenCertificate makes a certificate by an API server that has none, for all names,
// and none by one whose clock is another.
func TestOpenCertificate(t *testing.T) {
	for _, off := range []time.Duration{0, time.Hour} {
		made, read := make(chan *corev1.Secret, 1), make(chan struct{}, 100)
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPost && r.URL.Path == "/api/v1/namespaces/kept/secrets" {
				s := &corev1.Secret{}
				if err := json.NewDecoder(r.Body).Decode(s); err != nil {
					t.Error(err)
				}
				made <- s
				_ = json.NewEncoder(w).Encode(s)
				return
			}
			read <- struct{}{}
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		}))
		t.Cleanup(api.Close)
		f := &Flags{flow: workflowFlags{leaseNamespace: "kept"}, webhooks: webhookFlags{name: "sallyport"}}
		f.server.ServerNames = []string{"guard.example.com"}
		f.certificate = certificateFlags{secret: "tls", place: certificate.Place{Namespace: "ns", Service: "sallyport", Port: 443},
			lives: certificate.Lifetimes{CA: 1000 * time.Hour, Certificate: 100 * time.Hour, Overlap: time.Minute}}
		f.surveying.replicas = replicas.New(replicas.Options{Clock: clock.RealClock{}})
		if err := f.openCertificate(&rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.certificate.keeper.Run(ctx) }()
		looked := func() {
			// Two kinds of two configurations, and the Secret.
			for range 5 {
				<-read
			}
		}
		looked()
		if off == 0 {
			if s := <-made; s.Name != "tls" || len(s.Data["ca.key"]) == 0 {
				t.Errorf("made was %s with %d keys", s.Name, len(s.Data))
			}
		}
		f.certificate.keeper.Notice()
		looked()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		shown, err := f.server.Certificate()
		if off != 0 {
			if said := strings.Join(f.certificate.warnings(), "\n"); err == nil || !strings.Contains(said, "the clock of this replica is") {
				t.Errorf("it has a certificate: %v, and says %q", err, said)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"localhost", "127.0.0.1", "guard.example.com", "sallyport.ns.svc"} {
			if err := shown.Leaf.VerifyHostname(name); err != nil {
				t.Error(err)
			}
		}
		if state := f.certificate.state(); state.Made["ca"] != 1 || state.CAEnds.IsZero() {
			t.Errorf("state: %+v", state)
		}
	}
}
