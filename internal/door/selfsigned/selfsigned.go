// Package selfsigned makes certificates for servers of ours whose callers are told
// which CA to trust.
package selfsigned

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
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
	ca, err := NewCA(names, now, Validity)
	if err != nil {
		return nil, err
	}
	return ca.Sign(names, now, Validity)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Certificates reads the certificates in a PEM text, as Go's TLS clients do: what stands
// between them is left aside. One that cannot be read is an error, and the others are
// returned all the same.
func Certificates(text []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	var broken error
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return found, broken
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			broken = fmt.Errorf("a certificate cannot be read: %w", err)
			continue
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
			kept = append(kept, PEM(c)...)
		}
	}
	return kept
}

// PEM is a certificate as a text.
func PEM(c *x509.Certificate) []byte { return encode("CERTIFICATE", c.Raw) }
