package selfsigned

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
)

// vouched is what is signed to vouch for another CA, which is nothing that a certificate
// could be taken for.
func vouched(next *x509.Certificate) []byte {
	return append([]byte("sallyport vouches for the CA\n"), next.Raw...)
}

// Vouch is by what a CA says that another comes after it.
func (ca *CA) Vouch(next *x509.Certificate) (string, error) {
	text, options := vouched(next), crypto.Hash(0)
	if _, pure := ca.signer.Public().(ed25519.PublicKey); !pure {
		sum := sha256.Sum256(text)
		text, options = sum[:], crypto.SHA256
	}
	signature, err := ca.signer.Sign(rand.Reader, text, options)
	if err != nil {
		return "", fmt.Errorf("the CA cannot vouch for the next: %w", err)
	}
	return base64.StdEncoding.EncodeToString(signature), nil
}

// Vouches reports whether a CA said by this that the other comes after it.
func (ca *CA) Vouches(next *x509.Certificate, by string) bool {
	signature, err := base64.StdEncoding.DecodeString(by)
	if err != nil || len(signature) == 0 {
		return false
	}
	algorithm := x509.UnknownSignatureAlgorithm
	switch ca.PublicKey.(type) {
	case *ecdsa.PublicKey:
		algorithm = x509.ECDSAWithSHA256
	case *rsa.PublicKey:
		algorithm = x509.SHA256WithRSA
	case ed25519.PublicKey:
		algorithm = x509.PureEd25519
	}
	return ca.CheckSignature(algorithm, vouched(next), signature) == nil
}
