package selfsigned

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// CA signs certificates of servers.
type CA struct {
	*x509.Certificate
	// Key is that of the certificate, in PEM.
	Key    []byte
	signer crypto.Signer
}

// NewCA makes a CA that is good for so long, for certificates of servers with these names
// and addresses and no others: whoever comes by its key can show nothing else to those
// who trust it.
func NewCA(names []string, now time.Time, validity time.Duration) (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("no key for a CA could be made: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "sallyport self-signed CA"},
		NotBefore: now.Add(-early), NotAfter: now.Add(validity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, MaxPathLenZero: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	constrain(template, names)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("no CA could be made: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("the CA that was made cannot be read: %w", err)
	}
	text, err := keyPEM(key)
	if err != nil {
		return nil, err
	}
	return &CA{certificate, text, key}, nil
}

// early is how long before it is made a certificate begins, for callers whose clocks
// are behind.
const early = time.Hour

// ReadCA puts a CA together from its key in PEM and the one of these certificates that
// the key belongs to. The error says what is wrong with either.
func ReadCA(among []*x509.Certificate, key []byte) (*CA, error) {
	for _, certificate := range among {
		pair, err := tls.X509KeyPair(PEM(certificate), key)
		if err != nil {
			continue
		}
		if err := CheckCA(certificate); err != nil {
			return nil, err
		}
		signer, ok := pair.PrivateKey.(crypto.Signer)
		if !ok {
			return nil, errors.New("its key cannot sign")
		}
		return &CA{certificate, key, signer}, nil
	}
	return nil, errors.New("it is not the key of any of the CAs")
}

// CheckCA says why a certificate is not one of a CA; nil if it is.
func CheckCA(c *x509.Certificate) error {
	if !c.IsCA || !c.BasicConstraintsValid || c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageCertSign == 0 {
		return fmt.Errorf("the certificate of %q is not one of a CA", c.Subject.CommonName)
	}
	return nil
}

// CheckNow says why a CA signs nothing at this time; nil if it does.
func (ca *CA) CheckNow(now time.Time) error {
	switch {
	case now.Before(ca.NotBefore):
		return fmt.Errorf("its CA is not valid before %s", ca.NotBefore.UTC().Format(time.RFC3339))
	case !now.Before(ca.NotAfter):
		return fmt.Errorf("its CA ended at %s", ca.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// Begins is when a certificate that was made here was made.
func Begins(c *x509.Certificate) time.Time { return c.NotBefore.Add(early) }

// Sign makes a certificate for these names and addresses, which ends with the CA at
// the latest.
func (ca *CA) Sign(names []string, now time.Time, validity time.Duration) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("no key for a certificate could be made: %w", err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano() + 1), Subject: pkix.Name{CommonName: "sallyport"},
		NotBefore: now.Add(-early), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if leaf.NotAfter.After(ca.NotAfter) {
		leaf.NotAfter = ca.NotAfter
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca.Certificate, key.Public(), ca.signer)
	if err != nil {
		return nil, fmt.Errorf("no certificate could be made: %w", err)
	}
	text, err := keyPEM(key)
	if err != nil {
		return nil, err
	}
	pair := &Pair{Key: text, CA: PEM(ca.Certificate)}
	pair.Cert = append(encode("CERTIFICATE", der), pair.CA...)
	return pair, nil
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("a key cannot be written down: %w", err)
	}
	return encode("PRIVATE KEY", der), nil
}

// Usable reads a pair that can be shown for all of these names, and that one of these
// CAs vouches for. The error says why it cannot be shown.
func Usable(cert, key []byte, cas []*x509.Certificate, names []string, now time.Time) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("they are not a certificate and its key: %w", err)
	}
	for _, name := range names {
		if err := pair.Leaf.VerifyHostname(name); err != nil {
			return nil, fmt.Errorf("the certificate is not for every name: %w", err)
		}
	}
	roots := x509.NewCertPool()
	for _, ca := range cas {
		roots.AddCert(ca)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now}); err != nil {
		return nil, fmt.Errorf("no CA vouches for the certificate now: %w", err)
	}
	return &pair, nil
}

// Issuer is the one of these CAs that signed a certificate; nil for none.
func Issuer(leaf *x509.Certificate, among []*x509.Certificate) *x509.Certificate {
	for _, ca := range among {
		if leaf.CheckSignatureFrom(ca) == nil {
			return ca
		}
	}
	return nil
}
