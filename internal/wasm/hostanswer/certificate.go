package hostanswer

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// What the hosts of the ecosystem say of a certificate that is not trusted. Policies
// pass it on, and the scripts that test them look for it.
const (
	notByChain = "Certificate is not trusted by the provided cert chain"
	tooLate    = "Certificate is being used after its expiration date"
	tooEarly   = "Certificate is being used before its validity date"
)

// trusted answers whether a certificate is trusted, at a time, by the chain that
// came with it, whose last one is the root. Without a chain, those whom the system
// trusts count; without a time, it is now.
func (a *Answers) trusted(asked *hostcall.Trust) ([]byte, error) {
	leaf, err := certificate(asked.Certificate)
	if err != nil {
		return nil, err
	}
	options := x509.VerifyOptions{
		Roots: a.Roots, Intermediates: x509.NewCertPool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, CurrentTime: time.Now(),
	}
	if a.Now != nil {
		options.CurrentTime = a.Now()
	}
	if len(asked.Chain) > 0 {
		options.Roots = x509.NewCertPool()
	}
	for i, c := range asked.Chain {
		link, err := certificate(c)
		if err != nil {
			return nil, fmt.Errorf("cert_chain[%d]: %w", i, err)
		}
		if i == len(asked.Chain)-1 {
			options.Roots.AddCert(link)
		} else {
			options.Intermediates.AddCert(link)
		}
	}
	if asked.NotAfter != "" {
		if options.CurrentTime, err = time.Parse(time.RFC3339, asked.NotAfter); err != nil {
			return nil, fmt.Errorf("not_after is not a time as RFC 3339 writes it: %w", err)
		}
	}
	_, err = leaf.Verify(options)
	return apijson.Marshal(struct {
		Trusted bool   `json:"trusted"`
		Reason  string `json:"reason"`
	}{err == nil, reason(err, options.CurrentTime)})
}

// reason words why a certificate is not trusted.
func reason(err error, at time.Time) string {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil && at.Before(invalid.Cert.NotBefore):
		return tooEarly
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return tooLate
	case errors.As(err, &unknown):
		return notByChain
	}
	return err.Error()
}

func certificate(c hostcall.Certificate) (*x509.Certificate, error) {
	der := c.Data
	if c.Encoding == "Pem" {
		block, rest := pem.Decode(c.Data)
		if block == nil || block.Type != "CERTIFICATE" {
			return nil, errors.New("a certificate is not PEM")
		}
		if next, _ := pem.Decode(rest); next != nil {
			return nil, errors.New("a certificate holds more than one; each belongs into an entry of its own")
		}
		der = block.Bytes
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("a certificate cannot be read: %w", err)
	}
	return parsed, nil
}
