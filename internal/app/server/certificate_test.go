package server

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-io/sallyport/internal/door/selfsigned"
)

func TestSelfSigned(t *testing.T) {
	o := options(t, &world{})
	o.ServerNames = []string{"sallyport.sallyport-system.svc", "10.0.0.7"}
	o.WriteCA = filepath.Join(t.TempDir(), "ca.crt")
	s, _, url := running(t, o)
	ca, err := os.ReadFile(o.WriteCA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatalf("%s is not a certificate", ca)
	}
	for _, name := range []string{"", "localhost", "127.0.0.1", "::1", "sallyport.sallyport-system.svc", "10.0.0.7"} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name}}
		resp, err := (&http.Client{Transport: transport}).Get(url + "/healthz")
		if err != nil {
			t.Errorf("as %q: %v", name, err)
			continue
		}
		if _, body := read(t, resp); body != "ok\n" || resp.TLS.Version != tls.VersionTLS13 || resp.ProtoMajor != 1 {
			t.Errorf("as %q: %q by TLS %x, HTTP/%d", name, body, resp.TLS.Version, resp.ProtoMajor)
		}
		transport.CloseIdleConnections()
	}
	if _, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
	if entries, err := os.ReadDir(filepath.Dir(o.WriteCA)); err != nil || len(entries) != 1 {
		t.Errorf("the directory of the CA holds %v, error %v", entries, err)
	}
}

func TestCertificateReload(t *testing.T) {
	now := time.Now()
	_, _, certFile, keyFile := pairFiles(t, now)
	_, _, otherCert, otherKey := pairFiles(t, now)
	c, err := newCertificate(&Options{CertFile: certFile, KeyFile: keyFile, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	first := c.current.Load()
	if changed, err := c.reload(); changed || err != nil {
		t.Errorf("nothing changed: changed %v, error %v", changed, err)
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	// Whichever of the two changes, they are looked at together.
	own, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	strange, err := os.ReadFile(otherKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []struct {
		content []byte
		fits    bool
	}{{strange, false}, {own, true}} {
		if err := os.WriteFile(keyFile, key.content, 0o600); err != nil {
			t.Fatal(err)
		}
		if changed, err := c.reload(); changed || (err == nil) != key.fits || c.current.Load() != first {
			t.Errorf("a key that fits: %v; changed %v, error %v", key.fits, changed, err)
		}
	}
	// Between the two renames, the pair does not fit together.
	move(otherCert, certFile)
	if _, err := c.reload(); err == nil || c.current.Load() != first {
		t.Errorf("a certificate with the key of another was accepted: %v", err)
	}
	move(otherKey, keyFile)
	if changed, err := c.reload(); !changed || err != nil || c.current.Load() == first {
		t.Errorf("a new pair: changed %v, error %v", changed, err)
	}
	if err := os.Remove(keyFile); err != nil {
		t.Fatal(err)
	}
	if _, err := c.reload(); err == nil || !strings.Contains(err.Error(), "key cannot be read") {
		t.Errorf("a key that is gone: %v", err)
	}
	made, err := newCertificate(&Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := made.reload(); changed || err != nil {
		t.Errorf("what stands in no file: changed %v, error %v", changed, err)
	}
	made.current.Store(&tls.Certificate{})
	if err := made.valid(); err != nil {
		t.Errorf("a certificate whose times are not known: %v", err)
	}
}

// TestReadiness moves the clock past the certificate's end.
func TestReadiness(t *testing.T) {
	now := time.Now()
	o := options(t, &world{}, noExec)
	o.Now = func() time.Time { return now }
	var missing []string
	o.Ready = func() []string { return missing }
	s, client, url := running(t, o)
	ready := func() (int, string) {
		resp, err := client.Get(url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		return read(t, resp)
	}
	if code, body := ready(); code != 200 || !strings.HasPrefix(body, "policies: 1 DenyPolicies") || !strings.HasSuffix(body, "ok\n") {
		t.Errorf("status %d: %s", code, body)
	}
	missing = []string{"caches have not synced"}
	if code, body := ready(); code != http.StatusServiceUnavailable || !strings.Contains(body, "missing: caches have not synced\n") {
		t.Errorf("status %d: %s", code, body)
	}
	missing = nil
	for at, want := range map[time.Duration]string{selfsigned.Validity + time.Second: "expired at", -2 * time.Hour: "not valid before"} {
		now = time.Now().Add(at)
		if code, body := ready(); code != http.StatusServiceUnavailable || !strings.Contains(body, want) {
			t.Errorf("after %s: status %d: %s", at, code, body)
		}
	}
	end := s.certificate.current.Load().Leaf.NotAfter.Unix()
	if value := metric(t, client, url, "sallyport_certificate_expiry_timestamp_seconds"); value == "" {
		t.Error("no metric says when the certificate ends")
	} else if got, err := strconv.ParseFloat(value, 64); err != nil || int64(got) != end {
		t.Errorf("the metric says %s, the certificate ends at %d", value, end)
	}
}

// TestReadinessTellsWhatCoversNothing says that a policy for clusters which have
// names stands in the detail of a server whose cluster has none.
func TestReadinessTellsWhatCoversNothing(t *testing.T) {
	const prod = "metadata: {name: prod}\nspec: {appliesTo: {clusters: [\"prod-*\"]}, podSecurityRules: {blockFactors: [hostPID]}}"
	for _, tt := range []struct {
		name, cluster string
		want          bool
	}{{"no name", "", true}, {"a name", "dev", false}} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, &world{}, prod)
			o.ClusterName = tt.cluster
			_, client, url := running(t, o)
			resp, err := client.Get(url + "/readyz?verbose")
			if err != nil {
				t.Fatal(err)
			}
			code, body := read(t, resp)
			if got := strings.Contains(body, "\nwarning: DenyPolicy prod covers nothing: it is for the clusters prod-*, and this cluster has no name; give it one with --cluster-name\n"); code != 200 || got != tt.want {
				t.Errorf("status %d: %s", code, body)
			}
		})
	}
}

// TestReadinessHidesDetail says that callers who are not authenticated read no
// names of policies.
func TestReadinessHidesDetail(t *testing.T) {
	o := options(t, &world{}, noExec)
	o.TokenFile = file(t, "tokens", "secret\n")
	_, client, url := running(t, o)
	resp, err := client.Get(url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	if code, body := read(t, resp); code != 200 || body != "ok\n" {
		t.Errorf("status %d: %q", code, body)
	}
}
