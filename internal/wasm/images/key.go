package images

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	sigs "github.com/sigstore/sigstore/pkg/signature"
)

// keyDemands are the owners of public keys.
func keyDemands(keys []string) ([]*demand, error) {
	var demands []*demand
	for n, text := range keys {
		key, err := cryptoutils.UnmarshalPEMToPublicKey([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("pub_keys[%d] is not a public key in PEM: %w", n, err)
		}
		verifiers, err := verifiersOf(key)
		if err != nil {
			return nil, fmt.Errorf("pub_keys[%d]: %w", n, err)
		}
		demands = append(demands, &demand{who: "the key " + fingerprint(key), check: func(s *signature) error {
			if s.bundle != nil {
				return s.bundledKey(verifiers[0])
			}
			return s.signedBy(verifiers)
		}})
	}
	return demands, nil
}

// fingerprint names a key for messages.
func fingerprint(key crypto.PublicKey) string {
	der, err := cryptoutils.MarshalPublicKeyToDER(key)
	if err != nil {
		return "of an unknown kind"
	}
	sum := sha256.Sum256(der)
	return "sha256:" + hex.EncodeToString(sum[:8])
}

// verifiersOf are the ways in which signatures of a key are made: cosign hashes with
// SHA-256 whatever the key is, and from its third version on by the kind of key.
func verifiersOf(key crypto.PublicKey) ([]sigs.Verifier, error) {
	if err := strong(key); err != nil {
		return nil, err
	}
	preset, err := sigs.LoadDefaultVerifier(key)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be used: %w", err)
	}
	plain, err := sigs.LoadVerifier(key, crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be used: %w", err)
	}
	return []sigs.Verifier{preset, plain}, nil
}

// strong says why a key is not accepted: anybody could make signatures of a short one,
// and those of a very long one take long to verify.
func strong(key crypto.PublicKey) error {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if bits := key.Curve.Params().BitSize; bits < 256 {
			return fmt.Errorf("the key has a curve of %d bits; 256 are needed", bits)
		}
		return nil
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < 2048 || bits > 8192 {
			return fmt.Errorf("the key has %d bits; from 2048 to 8192 are accepted", bits)
		}
		return nil
	}
	return fmt.Errorf("a key of the type %T is not read; ECDSA, RSA and Ed25519 are", key)
}

// signedBy says whether what was signed was signed with a key.
func (s *signature) signedBy(verifiers []sigs.Verifier) error {
	for _, v := range verifiers {
		if v.VerifySignature(bytes.NewReader(s.signed), bytes.NewReader(s.payload)) == nil {
			return nil
		}
	}
	return errors.New("it was made with another key")
}

// bundledKey verifies a bundle by a key.
func (s *signature) bundledKey(v sigs.Verifier) error {
	material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
		return root.NewExpiringKey(v, time.Time{}, time.Time{}), nil
	})
	return s.bundled(material, verify.WithKey(), verify.WithNoObserverTimestamps())
}

// bundled verifies a bundle, and that it says that the image was signed, and not
// something else about it.
func (s *signature) bundled(material root.TrustedMaterial, by verify.PolicyOption, options ...verify.VerifierOption) error {
	verifier, err := verify.NewVerifier(material, options...)
	if err != nil {
		return err
	}
	sum, err := hex.DecodeString(strings.TrimPrefix(s.digest, "sha256:"))
	if err != nil {
		return err
	}
	result, err := verifier.Verify(s.bundle, verify.NewPolicy(verify.WithArtifactDigest("sha256", sum), by))
	if err != nil {
		return err
	}
	if result.Statement != nil && result.Statement.GetPredicateType() != bundlePredicate {
		return fmt.Errorf("it says %s of the image, and not that it was signed", result.Statement.GetPredicateType())
	}
	return nil
}
