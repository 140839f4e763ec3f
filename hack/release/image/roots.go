package image

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// RootsPackage holds the certificates of authorities: those that Mozilla's programs
// trust, as a Go module, so that go.sum says which.
const RootsPackage = "golang.org/x/crypto/x509roots/fallback/bundle"

// roots are these certificates in PEM, each below its subject. Those that are trusted
// under a condition only are left out, as a file cannot say the condition.
func roots() ([]byte, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, fmt.Errorf("a certificate of %s: %w", RootsPackage, err)
		}
		fmt.Fprintf(&out, "# %s\n", certificate.Subject)
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
