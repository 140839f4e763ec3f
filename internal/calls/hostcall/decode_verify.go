package hostcall

import (
	"errors"
	"fmt"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// The types of verifications.
const (
	PubKey        = "SigstorePubKeyVerify"
	KeylessExact  = "SigstoreKeylessVerify"
	KeylessPrefix = "SigstoreKeylessPrefixVerify"
	GithubActions = "SigstoreGithubActionsVerify"
	ByCertificate = "SigstoreCertificateVerify"
)

// decodeVerifyV1 reads the first form: an object whose one name is the type.
func decodeVerifyV1(payload []byte) (*Verify, error) {
	var v *Verify
	err := apijson.Read(payload, func(d *apijson.Decoder) error {
		return d.Object(func(name string) error {
			if v != nil {
				return errors.New("one verification is asked for at a time")
			}
			if name != PubKey && name != KeylessExact {
				return fmt.Errorf("verification %q is not known; there are %s and %s", clip(name), PubKey, KeylessExact)
			}
			v = &Verify{Type: name}
			return object(d, v.members())
		})
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, errors.New("the type of the verification is missing")
	}
	return v, v.check()
}

// decodeVerify reads the second form: the type is a field.
func decodeVerify(payload []byte) (*Verify, error) {
	v := &Verify{}
	known := v.members()
	known["type"] = text(&v.Type)
	if err := apijson.Read(payload, func(d *apijson.Decoder) error { return object(d, known) }); err != nil {
		return nil, err
	}
	return v, v.check()
}

func (v *Verify) members() members {
	identities := func(prefix bool) func(*apijson.Decoder) error {
		return func(d *apijson.Decoder) error {
			return list(d, func() error {
				var k Keyless
				known := members{"issuer": text(&k.Issuer), "subject": text(&k.Subject)}
				if prefix {
					known = members{"issuer": text(&k.Issuer), "url_prefix": text(&k.Subject)}
				}
				err := object(d, known)
				v.Keyless = append(v.Keyless, k)
				return err
			})
		}
	}
	return members{
		"image": text(&v.Image), "pub_keys": texts(&v.PubKeys), "annotations": pairs(&v.Annotations),
		"keyless": identities(false), "keyless_prefix": identities(true),
		"owner": text(&v.Owner), "repo": text(&v.Repo), "certificate": octets(&v.Certificate),
		"certificate_chain": func(d *apijson.Decoder) error {
			return list(d, func() error {
				var c []byte
				err := octets(&c)(d)
				v.CertificateChain = append(v.CertificateChain, c)
				return err
			})
		},
		"require_rekor_bundle": flag(&v.RequireRekorBundle),
	}
}

// check makes sure that a verification says what has to be there: one that
// demands nothing would trust everybody.
func (v *Verify) check() error {
	if v.Image == "" {
		return errors.New("image is needed")
	}
	missing := ""
	switch v.Type {
	case PubKey:
		if len(v.PubKeys) == 0 {
			missing = "pub_keys"
		}
	case KeylessExact, KeylessPrefix:
		if len(v.Keyless) == 0 {
			missing = "keyless"
		}
	case GithubActions:
		if v.Owner == "" {
			missing = "owner"
		}
	case ByCertificate:
		if len(v.Certificate) == 0 {
			missing = "certificate"
		}
	default:
		return fmt.Errorf("verification %q is not known", clip(v.Type))
	}
	if missing != "" {
		return fmt.Errorf("%s needs %s, or anybody's signature would do", v.Type, missing)
	}
	return nil
}
