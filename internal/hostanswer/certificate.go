package hostanswer

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport-io/sallyport/internal/hostcall"
	"github.com/sallyport-io/sallyport/internal/wire"
)

// trusted answers whether a certificate is trusted by the chain that came with
// it, whose last one is the root. Without a chain it is, as the call is defined;
// without a time nothing expires.
func trusted(asked *hostcall.Trust) ([]byte, error) {
	leaf, err := certificate(asked.Certificate)
	if err != nil {
		return nil, err
	}
	options := x509.VerifyOptions{
		Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, CurrentTime: leaf.NotBefore,
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
		if link.NotBefore.After(options.CurrentTime) {
			options.CurrentTime = link.NotBefore
		}
	}
	if asked.NotAfter != "" {
		if options.CurrentTime, err = time.Parse(time.RFC3339, asked.NotAfter); err != nil {
			return nil, fmt.Errorf("not_after is no time as RFC 3339 writes it: %w", err)
		}
	}
	var answer struct {
		Trusted bool   `json:"trusted"`
		Reason  string `json:"reason"`
	}
	switch {
	case len(asked.Chain) > 0:
		_, err = leaf.Verify(options)
	case asked.NotAfter != "" && options.CurrentTime.After(leaf.NotAfter):
		err = errors.New("the certificate has expired by then")
	case asked.NotAfter != "" && options.CurrentTime.Before(leaf.NotBefore):
		err = errors.New("the certificate is not valid yet by then")
	default:
		err = nil
	}
	if answer.Trusted = err == nil; err != nil {
		answer.Reason = err.Error()
	}
	return wire.Marshal(answer)
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
