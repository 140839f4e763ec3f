// Package selfsigned makes certificates for servers of ours whose callers are told
// which CA to trust.
package selfsigned

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Validity is how long a pair is good.
const Validity = 365 * 24 * time.Hour

// Pair is a server's certificate with its key, and the CA that signed it, all in
// PEM. The certificate is followed by the CA.
type Pair struct{ Cert, Key, CA []byte }

// New makes a CA and a certificate for these names and addresses, and forgets the
// CA's key.
func New(names []string, now time.Time) (*Pair, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "sallyport self-signed CA"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(Validity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, MaxPathLenZero: true,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano() + 1), Subject: pkix.Name{CommonName: "sallyport"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(Validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	pair := &Pair{Key: encode("PRIVATE KEY", keyDER), CA: encode("CERTIFICATE", caDER)}
	pair.Cert = append(encode("CERTIFICATE", der), pair.CA...)
	return pair, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Certificates reads the certificates in a PEM text. What stands between them is
// left aside; one that cannot be read is an error.
func Certificates(text []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return found, nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("a certificate cannot be read: %w", err)
		}
		found = append(found, certificate)
	}
}

// Current returns those certificates of a PEM text that have not ended, each once,
// in PEM again. What cannot be read is left out.
func Current(text []byte, now time.Time) []byte {
	found, _ := Certificates(text)
	var kept []byte
	seen := map[string]bool{}
	for _, c := range found {
		if now.Before(c.NotAfter) && !seen[string(c.Raw)] {
			seen[string(c.Raw)] = true
			kept = append(kept, encode("CERTIFICATE", c.Raw)...)
		}
	}
	return kept
}
