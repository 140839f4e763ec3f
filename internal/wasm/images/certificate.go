package images

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// certificateDemand is the owner of a certificate. When it was used is when the
// signature was entered into a transparency log that is trusted; without such an
// entry the certificate has to be valid now.
func (r *Registries) certificateDemand(asked *hostcall.Verify) (*demand, error) {
	leaf, err := oneCertificate(asked.Certificate)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	verifiers, err := verifiersOf(leaf.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	options := x509.VerifyOptions{Intermediates: x509.NewCertPool(), Roots: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	for n, text := range asked.CertificateChain {
		link, err := oneCertificate(text)
		if err != nil {
			return nil, fmt.Errorf("certificate_chain[%d]: %w", n, err)
		}
		if pool := options.Intermediates; n < len(asked.CertificateChain)-1 {
			pool.AddCert(link)
		} else {
			options.Roots.AddCert(link)
		}
	}
	if asked.RequireRekorBundle && r.o.TrustedRoot == nil {
		return nil, errNoRoot
	}
	check := func(s *signature) error {
		if s.bundle != nil {
			return errors.New("certificates are not looked for in bundles")
		}
		if err := s.signedBy(verifiers); err != nil {
			return err
		}
		options := options
		options.CurrentTime = r.o.Clock.Now()
		if r.o.TrustedRoot != nil && (s.rekor != "" || asked.RequireRekorBundle) {
			at, err := s.logged(r.o.TrustedRoot, leaf.PublicKey)
			if err != nil {
				return err
			}
			options.CurrentTime = at
		}
		if len(asked.CertificateChain) > 0 {
			if _, err := leaf.Verify(options); err != nil {
				return fmt.Errorf("its certificate is not trusted: %w", err)
			}
			return nil
		}
		if options.CurrentTime.Before(leaf.NotBefore) || options.CurrentTime.After(leaf.NotAfter) {
			return fmt.Errorf("its certificate was not valid on %s", options.CurrentTime.UTC().Format("2006-01-02"))
		}
		return nil
	}
	return &demand{who: "the certificate of " + leaf.Subject.String(), check: check}, nil
}

func oneCertificate(text []byte) (*x509.Certificate, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("it is not a certificate in PEM")
	}
	if next, _ := pem.Decode(rest); next != nil {
		return nil, errors.New("it holds more than one certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}

// sameKey reports whether what an entry of the log names, a certificate or a key, is
// a key.
func sameKey(named any, key crypto.PublicKey) bool {
	if c, ok := named.(*x509.Certificate); ok {
		named = c.PublicKey
	}
	public, ok := named.(interface{ Equal(x crypto.PublicKey) bool })
	return ok && public.Equal(key)
}
