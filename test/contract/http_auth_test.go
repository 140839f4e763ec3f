package contract

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
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestServeBearerTokens says who may ask when tokens are given: whoever holds
// one of them, line by line, and nobody else. With them, every address will do.
func TestServeBearerTokens(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"from/policy.yaml": podSecurityPolicy("standard", "Enforce", "{level: baseline}"),
		"tokens": "first-token\n\nsecond-token\n"})
	ca, port := filepath.Join(dir, "ca.pem"), portOf(t, freeAddress(t))
	s := launch(t, "--from", filepath.Join(dir, "from"), "--addr", "0.0.0.0:"+port, "--auth-token-file", filepath.Join(dir, "tokens"), "--write-ca", ca)
	s.url, s.client = "https://127.0.0.1:"+port, trust(t, ca)
	s.awaitReady(t)
	admission, access := createPod(t, newPod("shop", "web")), enterPod(t, "create", "shop", "web", "exec")
	tests := []struct {
		name, header string
		code         int
	}{
		{"the first", "Bearer first-token", 200},
		{"the second", "Bearer second-token", 200},
		{"none", "", 401},
		{"a wrong one", "Bearer third-token", 401},
		{"an empty one", "Bearer ", 401},
		{"a beginning of one", "Bearer first", 401},
		{"more than one", "Bearer first-token second-token", 401},
		{"another case", "Bearer First-Token", 401},
		{"only the token", "first-token", 401},
		{"basic", "Basic Zmlyc3QtdG9rZW46", 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for path, body := range map[string]string{"/validate": admission, "/authorize": access, "/validate/prod-eu": admission, "/authorize/prod-eu": access} {
				var headers []string
				if tt.header != "" {
					headers = []string{"Authorization", tt.header}
				}
				if r := s.request(t, http.MethodPost, path, "application/json", body, headers...); r.code != tt.code {
					t.Errorf("%s: status %d, want %d\n%s", path, r.code, tt.code, clip(r.body))
				}
			}
		})
	}
	t.Run("a stranger's body is not read", func(t *testing.T) {
		if r := s.request(t, http.MethodPost, "/validate", "application/json", "null"); r.code != http.StatusUnauthorized {
			t.Errorf("status %d, want 401", r.code)
		}
	})
}

// TestServeClientCertificates says that a certificate of the given CA opens the
// doors, and that neither none nor another's does.
func TestServeClientCertificates(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"from/policy.yaml": podSecurityPolicy("standard", "Enforce", "{level: baseline}")})
	caPEM, own := clientCertificate(t)
	_, foreign := clientCertificate(t)
	writeFile(t, filepath.Join(dir, "client-ca.pem"), caPEM)
	ca, address := filepath.Join(dir, "ca.pem"), freeAddress(t)
	s := launch(t, "--from", filepath.Join(dir, "from"), "--addr", address, "--client-ca-file", filepath.Join(dir, "client-ca.pem"), "--write-ca", ca)
	s.url, s.client = "https://"+address, trust(t, ca, own)
	s.awaitReady(t)
	review := createPod(t, newPod("shop", "web"))
	wantAdmitted(t, s.admit(t, "/validate", review))
	for name, client := range map[string]*http.Client{"none": trust(t, ca), "foreign": trust(t, ca, foreign)} {
		s.client = client
		t.Run(name, func(t *testing.T) {
			resp, err := client.Post(s.url+"/validate", "application/json", http.NoBody)
			if err != nil {
				return // the handshake failed: that is a refusal as well
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("status %d, want 401", resp.StatusCode)
			}
		})
	}
}

// TestServeRefusesToBind says which combinations of address and authentication
// are too open to start with.
func TestServeRefusesToBind(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"from/policy.yaml": podSecurityPolicy("standard", "Enforce", "{level: baseline}"), "tokens": "a-token\n", "empty": "\n"})
	from, port := filepath.Join(dir, "from"), portOf(t, freeAddress(t))
	tokens := filepath.Join(dir, "tokens")
	tests := []struct {
		name  string
		flags []string
		names string
	}{
		{"every address", []string{"--addr", "0.0.0.0:" + port}, "loopback"},
		{"every address, unwritten", []string{"--addr", ":" + port}, "loopback"},
		{"every address of IPv6", []string{"--addr", "[::]:" + port}, "loopback"},
		{"the default address", nil, "loopback"},
		{"plain HTTP on every address", []string{"--insecure-http", "--addr", "0.0.0.0:" + port}, "loopback"},
		{"plain HTTP on the default address", []string{"--insecure-http"}, "loopback"},
		{"plain HTTP with tokens", []string{"--insecure-http", "--addr", "0.0.0.0:" + port, "--auth-token-file", tokens}, "loopback"},
		{"no such token file", []string{"--addr", "127.0.0.1:" + port, "--auth-token-file", tokens + "x"}, "tokensx"},
		{"a token file without tokens", []string{"--addr", "0.0.0.0:" + port, "--auth-token-file", filepath.Join(dir, "empty")}, "empty"},
		{"no such client CA", []string{"--addr", "127.0.0.1:" + port, "--client-ca-file", tokens + "x"}, "tokensx"},
		{"a client CA that is none", []string{"--addr", "127.0.0.1:" + port, "--client-ca-file", tokens}, "tokens"},
		{"a certificate without its key", []string{"--addr", "127.0.0.1:" + port, "--tls-cert-file", tokens}, "tls-private-key-file"},
		{"an address that is none", []string{"--addr", "nowhere"}, "nowhere"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, append([]string{"--from", from}, tt.flags...), tt.names)
		})
	}
	t.Run("no such directory", func(t *testing.T) {
		t.Parallel()
		refuses(t, []string{"--from", filepath.Join(dir, "nothing"), "--insecure-http", "--addr", "127.0.0.1:" + port}, "nothing")
	})
}

// TestServeOwnCertificate serves with the pair that is given.
func TestServeOwnCertificate(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"from/policy.yaml": podSecurityPolicy("standard", "Enforce", "{level: baseline}")})
	caPEM, pair := clientCertificate(t)
	key, err := x509.MarshalECPrivateKey(pair.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "ca.pem"), caPEM)
	writeFile(t, filepath.Join(dir, "tls.crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	writeFile(t, filepath.Join(dir, "tls.key"), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})))
	address := freeAddress(t)
	s := launch(t, "--from", filepath.Join(dir, "from"), "--addr", address, "--tls-cert-file", filepath.Join(dir, "tls.crt"), "--tls-private-key-file", filepath.Join(dir, "tls.key"))
	s.url, s.client = "https://localhost:"+portOf(t, address), trust(t, filepath.Join(dir, "ca.pem"))
	s.awaitReady(t)
	wantRefused(t, s.admit(t, "/validate", createPod(t, newPod("shop", "web", hostPID))), "hostPID")
}

func newPool() *x509.CertPool { return x509.NewCertPool() }

// clientCertificate makes a CA, returned as PEM, and a pair that it signed, for
// clients and for localhost.
func clientCertificate(t *testing.T) (string, tls.Certificate) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) []byte {
		raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	from, until := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	caKey, key := newKey(), newKey()
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "contract"}, NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"}, NotBefore: from, NotAfter: until,
		DNSNames: []string{"localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	caPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sign(ca, ca, caKey, caKey)})
	return string(caPEM), tls.Certificate{Certificate: [][]byte{sign(leaf, ca, key, caKey)}, PrivateKey: key}
}

// TestServeWritesItsCA says that the certificate made at the start is one that
// a client can verify.
func TestServeWritesItsCA(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"from/policy.yaml": podSecurityPolicy("standard", "Enforce", "{level: baseline}")})
	ca, address := filepath.Join(dir, "ca.pem"), freeAddress(t)
	s := launch(t, "--from", filepath.Join(dir, "from"), "--addr", address, "--write-ca", ca)
	s.url, s.client = "https://"+address, trust(t, ca)
	s.awaitReady(t)
	wantRefused(t, s.admit(t, "/validate", createPod(t, newPod("shop", "web", hostPID))), "hostPID")
	if raw, err := os.ReadFile(ca); err != nil || len(raw) == 0 {
		t.Errorf("the CA file: %d bytes, %v", len(raw), err)
	}
}
