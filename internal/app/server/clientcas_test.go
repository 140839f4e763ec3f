package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"testing"
	"time"
)

// authority issues client certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T, key *ecdsa.PrivateKey, serial int64) *authority {
	t.Helper()
	var err error
	if key == nil {
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "clients"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{key, cert}
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

func (a *authority) issue(t *testing.T, ends time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "api"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: ends,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// withCertificate is a client that shows a certificate and keeps what sessions it is
// given.
func withCertificate(t *testing.T, client *http.Client, certificate tls.Certificate) *http.Client {
	t.Helper()
	transport := client.Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.Certificates = []tls.Certificate{certificate}
	transport.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// unhurried starts a server that looks at its files when the test has it look.
func unhurried(t *testing.T, o Options) (s *Server, client *http.Client, url string) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.reloads = time.Hour
	client, url = serving(t, s)
	return s, client, url
}

// asked posts a review and says whether the connection had been there before, and
// whether its session was resumed.
func asked(t *testing.T, client *http.Client, url string) (code int, body string, reused, resumed bool) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url+"/authorize", strings.NewReader(sar))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}))
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error(), reused, false
	}
	resumed = resp.TLS.DidResume
	code, body = read(t, resp)
	return code, body, reused, resumed
}

// A client whose CA was taken away does not stay by the connection that it has open,
// nor come in by a session of before.
func TestCAsThatAreTakenAway(t *testing.T) {
	first, second := newAuthority(t, nil, 1), newAuthority(t, nil, 2)
	o := options(t, &world{}, noExec)
	o.ClientCAFile = file(t, "ca.crt", first.pem()+second.pem())
	s, plain, url := unhurried(t, o)
	client, other := withCertificate(t, plain, first.issue(t, time.Now().Add(time.Hour))), withCertificate(t, plain, second.issue(t, time.Now().Add(time.Hour)))
	for range 2 {
		if code, body, _, resumed := asked(t, client, url); code != http.StatusOK || resumed {
			t.Fatalf("status %d, resumed %v: %s", code, resumed, body)
		}
		if code, body, _, _ := asked(t, other, url); code != http.StatusOK {
			t.Fatalf("status %d: %s", code, body)
		}
	}
	// A new connection is made with a whole handshake.
	client.CloseIdleConnections()
	if code, _, reused, resumed := asked(t, client, url); code != http.StatusOK || reused || resumed {
		t.Errorf("status %d, reused %v, resumed %v", code, reused, resumed)
	}
	take := func(content string) (bool, error) {
		t.Helper()
		if err := os.WriteFile(o.ClientCAFile, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.clientCAs.reload()
	}
	if changed, err := take(second.pem()); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if code, body, reused, _ := asked(t, client, url); code != http.StatusUnauthorized || !reused || !strings.Contains(body, "not trusted any more") {
		t.Errorf("on the connection of before: status %d, reused %v: %s", code, reused, body)
	}
	if code, _, reused, _ := asked(t, client, url); code == http.StatusOK || reused {
		t.Errorf("on a new one: status %d, reused %v", code, reused)
	}
	if code, body, reused, _ := asked(t, other, url); code != http.StatusOK || !reused {
		t.Errorf("of the CA that stayed: status %d, reused %v: %s", code, reused, body)
	}
	// Renewed with its key, it is the same CA.
	renewed := newAuthority(t, second.key, 3)
	if changed, err := take(renewed.pem()); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if code, body, reused, _ := asked(t, other, url); code != http.StatusOK || !reused {
		t.Errorf("of a CA that was renewed: status %d, reused %v: %s", code, reused, body)
	}
	// What may be half written changes nothing until it is seen twice.
	if _, err := take(""); err == nil {
		t.Error("no CA was taken for one")
	}
	if code, _, _, _ := asked(t, other, url); code != http.StatusOK {
		t.Errorf("after a file without CAs: status %d", code)
	}
	if _, err := s.clientCAs.reload(); err == nil || !strings.Contains(err.Error(), "no client certificate is accepted") {
		t.Error(err)
	}
	if code, _, _, _ := asked(t, other, url); code != http.StatusUnauthorized {
		t.Errorf("after a file that stays without CAs: status %d", code)
	}
	if changed, err := take(renewed.pem()); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if code, body, _, _ := asked(t, other, url); code != http.StatusOK {
		t.Errorf("mended: status %d: %s", code, body)
	}
	// One that cannot be read, and is not gone, changes nothing.
	replaceWithDirectory(t, o.ClientCAFile)
	for range 2 {
		if _, err := s.clientCAs.reload(); err == nil {
			t.Error("a directory was read")
		}
	}
	if code, body, _, _ := asked(t, other, url); code != http.StatusOK {
		t.Errorf("while the file cannot be read: status %d: %s", code, body)
	}
	// A file that is gone for good lets no one in.
	if err := os.Remove(o.ClientCAFile); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.clientCAs.reload(); err == nil {
			t.Error("a file that is gone was read")
		}
	}
	if code, _, _, _ := asked(t, other, url); code != http.StatusUnauthorized {
		t.Errorf("after the file is gone: status %d", code)
	}
}

// TestWhatIsNoCA takes of a file only what says that it is a certificate.
func TestWhatIsNoCA(t *testing.T) {
	ca, other := newAuthority(t, nil, 1), newAuthority(t, nil, 2)
	block := func(kind string, headers map[string]string, raw []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Headers: headers, Bytes: raw}))
	}
	for name, more := range map[string]string{
		"another type":                  block("TRUSTED CERTIFICATE", nil, other.cert.Raw),
		"headers":                       block("CERTIFICATE", map[string]string{"Proc-Type": "4,ENCRYPTED"}, other.cert.Raw),
		"what cannot be read as one":    block("CERTIFICATE", nil, []byte("x")),
		"words, which are only skipped": "these are the CAs\n",
	} {
		for _, content := range []string{ca.pem() + more, more + ca.pem()} {
			read := (&clientCAs{base: &tls.Config{}}).read([]byte(content))
			if len(read.raw) != 1 || !read.raw[string(ca.cert.Raw)] {
				t.Errorf("%s: %d CAs", name, len(read.raw))
			}
		}
	}
}

// replaceWithDirectory puts what cannot be read, and is not gone, in place of a file.
func replaceWithDirectory(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// A certificate that ends while its connection is open counts until then.
func TestCertificatesThatEnd(t *testing.T) {
	ca := newAuthority(t, nil, 1)
	now := time.Now()
	o := options(t, &world{}, noExec)
	o.ClientCAFile = file(t, "ca.crt", ca.pem())
	s, plain, url := unhurried(t, o)
	client := withCertificate(t, plain, ca.issue(t, now.Add(10*time.Minute)))
	if code, body, _, _ := asked(t, client, url); code != http.StatusOK {
		t.Fatalf("status %d: %s", code, body)
	}
	state := &tls.ConnectionState{}
	leaf, err := x509.ParseCertificate(client.Transport.(*http.Transport).TLSClientConfig.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	state.PeerCertificates, state.VerifiedChains = []*x509.Certificate{leaf}, [][]*x509.Certificate{{leaf, ca.cert}}
	if s.clientCAs.verify(state, now) == nil || s.clientCAs.verify(state, now.Add(11*time.Minute)) != nil || s.clientCAs.verify(state, now.Add(-2*time.Hour)) != nil {
		t.Error("the times of the certificate do not count")
	}
	state.PeerCertificates = nil
	if s.clientCAs.verify(state, now) == nil || s.clientCAs.verify(state, now.Add(11*time.Minute)) != nil {
		t.Error("a chain without what the caller showed is accepted when it is over")
	}
}

// A token that was taken out of the file does not count any more, on whichever
// connection, also where the file cannot be used as a whole.
func TestTokensThatAreTakenAway(t *testing.T) {
	o := options(t, &world{}, noExec)
	o.TokenFile = file(t, "tokens", "first\nsecond\n")
	s, client, url := unhurried(t, o)
	ask := func(token string) int {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		code, _ := read(t, resp)
		return code
	}
	for _, step := range []struct {
		content       string
		looks         int
		first, second int
	}{
		{"first\nsecond\n", 1, 200, 200},
		{"first\n", 1, 200, 401},
		{"first\nsecond\n", 1, 200, 200},
		{"first\nthird fourth\n", 1, 200, 200},
		{"first\nthird fourth\n", 2, 200, 401},
		{"first\nsecond\n", 1, 200, 200},
		{"", 1, 200, 200},
		{"", 2, 401, 401},
		{"second\n", 1, 401, 200},
	} {
		if err := os.WriteFile(o.TokenFile, []byte(step.content), 0o600); err != nil {
			t.Fatal(err)
		}
		for range step.looks {
			_, _ = s.auth.reload()
		}
		if first, second := ask("first"), ask("second"); first != step.first || second != step.second {
			t.Errorf("%q, %d looks: first %d, second %d; want %d, %d", step.content, step.looks, first, second, step.first, step.second)
		}
	}
	replaceWithDirectory(t, o.TokenFile)
	for range 2 {
		if _, err := s.auth.reload(); err == nil {
			t.Error("a directory was read")
		}
	}
	if code := ask("second"); code != 200 {
		t.Errorf("while the file cannot be read: %d", code)
	}
	if err := os.Remove(o.TokenFile); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.auth.reload(); err == nil {
			t.Error("a file that is gone was read")
		}
	}
	if code := ask("second"); code != 401 {
		t.Errorf("after the file is gone: %d", code)
	}
}
