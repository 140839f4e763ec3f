package server

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"testing"
	"time"
)

func TestTokens(t *testing.T) {
	o := options(t, &world{}, noExec)
	o.TokenFile = file(t, "tokens", "# callers\nfirst\n\n  second  \n")
	s, client, url := running(t, o)
	ask := func(path, authorization string) int {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if authorization != "" {
			req.Header.Set("Authorization", authorization)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		code, _ := read(t, resp)
		return code
	}
	for _, tt := range []struct {
		name, path, authorization string
		want                      int
	}{
		{"none", "/metrics", "", 401},
		{"the first", "/metrics", "Bearer first", 200},
		{"the second, in another case of the scheme", "/metrics", "bearer second", 200},
		{"a prefix", "/metrics", "Bearer firs", 401},
		{"one with more behind it", "/metrics", "Bearer first second", 401},
		{"an empty one", "/metrics", "Bearer ", 401},
		{"a comment", "/metrics", "Bearer # callers", 401},
		{"another scheme", "/metrics", "Basic first", 401},
		{"no scheme", "/metrics", "first", 401},
		{"health without one", "/healthz", "", 200},
		{"readiness without one", "/readyz", "", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if code := ask(tt.path, tt.authorization); code != tt.want {
				t.Errorf("status %d, want %d", code, tt.want)
			}
		})
	}
	for _, path := range []string{"/validate", "/mutate", "/authorize", "/authorize/x"} {
		if code, _ := post(t, client, url+path, sar); code != http.StatusUnauthorized {
			t.Errorf("%s without a token: status %d", path, code)
		}
	}

	rewrite := func(content string) (bool, error) {
		t.Helper()
		if err := os.WriteFile(o.TokenFile, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.auth.reload()
	}
	for _, bad := range []string{"", "# nothing\n", "two words\n"} {
		if _, err := rewrite(bad); err == nil {
			t.Errorf("tokens %q were accepted", bad)
		}
		if code := ask("/metrics", "Bearer first"); code != 200 {
			t.Errorf("after %q the last good tokens are gone: status %d", bad, code)
		}
	}
	if changed, err := rewrite("third\n"); err != nil || !changed {
		t.Errorf("changed %v, error %v", changed, err)
	}
	if changed, err := rewrite("third\n"); err != nil || changed {
		t.Errorf("the same content: changed %v, error %v", changed, err)
	}
	if old, new := ask("/metrics", "Bearer first"), ask("/metrics", "Bearer third"); old != 401 || new != 200 {
		t.Errorf("the old token gets %d, the new one %d", old, new)
	}
}

// pairFiles makes a pair that is signed by a CA of its own, and writes pair and
// CA to files.
func pairFiles(t *testing.T, now time.Time) (pair *tls.Certificate, ca, cert, key string) {
	t.Helper()
	pair, caPEM, err := selfSigned([]string{"caller"}, now)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return pair, file(t, "ca.crt", string(caPEM)), file(t, "tls.crt", string(certPEM)), file(t, "tls.key", string(keyPEM))
}

func TestClientCAs(t *testing.T) {
	pair, first, _, _ := pairFiles(t, time.Now())
	_, second, _, _ := pairFiles(t, time.Now())
	o := options(t, &world{}, noExec)
	o.ClientCAFile = first
	s, client, url := running(t, o)
	if code, _ := post(t, client, url+"/authorize", sar); code != http.StatusUnauthorized {
		t.Errorf("without a certificate: status %d", code)
	}

	// The first is signed by one of the CAs, but is for servers; the second by none.
	for name, pair := range map[string]*tls.Certificate{"for servers": pair, "of another CA": s.certificate.current.Load()} {
		transport := client.Transport.(*http.Transport).Clone()
		transport.TLSClientConfig.Certificates = []tls.Certificate{*pair}
		if resp, err := (&http.Client{Transport: transport}).Get(url + "/healthz"); err == nil {
			resp.Body.Close()
			t.Errorf("a client certificate %s was accepted", name)
		}
		transport.CloseIdleConnections()
	}

	content, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	before := s.clientCAs.current.Load()
	if err := os.WriteFile(first, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.clientCAs.reload(); err == nil || s.clientCAs.current.Load() != before {
		t.Errorf("a file without CAs was accepted: %v", err)
	}
	if err := os.WriteFile(first, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := s.clientCAs.reload(); err != nil || !changed || s.clientCAs.current.Load().ClientCAs.Equal(before.ClientCAs) {
		t.Errorf("new CAs: changed %v, error %v", changed, err)
	}
	if changed, err := s.clientCAs.reload(); err != nil || changed {
		t.Errorf("the same CAs: changed %v, error %v", changed, err)
	}
}
