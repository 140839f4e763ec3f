package images

import (
	"bytes"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

var errNoRoot = errors.New("there is no root of trust here for signatures without keys, nor for entries of a transparency log; give one with --sigstore-trusted-root")

// githubIssuer is who vouches for the workflows of GitHub.
const githubIssuer = "https://token.actions.githubusercontent.com"

// keylessDemands are people and workflows, as an authority vouched for them when
// they signed.
func (r *Registries) keylessDemands(asked *hostcall.Verify) ([]*demand, error) {
	if r.o.TrustedRoot == nil {
		return nil, errNoRoot
	}
	if asked.Type == hostcall.GithubActions {
		prefix, err := githubPrefix(asked.Owner, asked.Repo)
		if err != nil {
			return nil, err
		}
		d, err := r.keylessDemand(githubIssuer, "", prefix)
		return []*demand{d}, err
	}
	var demands []*demand
	for n, k := range asked.Keyless {
		exact, prefix := k.Subject, ""
		if asked.Type == hostcall.KeylessPrefix {
			exact, prefix = "", k.Subject
			if u, err := url.Parse(prefix); err != nil || u.Scheme == "" || u.Host == "" {
				return nil, fmt.Errorf("keyless_prefix[%d].url_prefix: %q is not a URL", n, prefix)
			}
			// So that nobody's name that begins with this one passes for it.
			prefix = strings.TrimSuffix(prefix, "/") + "/"
		}
		if k.Issuer == "" || k.Subject == "" {
			return nil, fmt.Errorf("%s[%d]: the issuer and the subject are both needed", asked.Type, n)
		}
		d, err := r.keylessDemand(k.Issuer, exact, prefix)
		if err != nil {
			return nil, err
		}
		demands = append(demands, d)
	}
	return demands, nil
}

// githubPrefix is what the names of an owner's workflows begin with.
func githubPrefix(owner, repository string) (string, error) {
	for _, part := range []string{owner, repository} {
		if strings.ContainsAny(part, "/ ?#%@") || part == "." || part == ".." {
			return "", fmt.Errorf("%q is not a name on GitHub", part)
		}
	}
	prefix := "https://github.com/" + owner + "/"
	if repository != "" {
		prefix += repository + "/"
	}
	return prefix, nil
}

func (r *Registries) keylessDemand(issuer, exact, prefix string) (*demand, error) {
	pattern, who := "", fmt.Sprintf("issuer: %s, subject: !equal %s", issuer, exact)
	if prefix != "" {
		pattern, who = "^"+regexp.QuoteMeta(prefix), fmt.Sprintf("issuer: %s, subject: !urlPrefix %s", issuer, prefix)
	}
	identity, err := verify.NewShortCertificateIdentity(issuer, "", exact, pattern)
	if err != nil {
		return nil, fmt.Errorf("the signer that is asked for cannot be looked for: %w", err)
	}
	by := verify.WithCertificateIdentity(identity)
	options := []verify.VerifierOption{verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1)}
	if len(r.o.TrustedRoot.CTLogs()) > 0 {
		// An authority of one's own may log no certificates: its root names no such log.
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	return &demand{who: who, check: func(s *signature) error {
		if s.bundle != nil {
			return s.bundled(r.o.TrustedRoot, by, options...)
		}
		entity, err := s.asBundle()
		if err != nil {
			return err
		}
		verifier, err := verify.NewVerifier(r.o.TrustedRoot, options...)
		if err != nil {
			return err
		}
		_, err = verifier.Verify(entity, verify.NewPolicy(verify.WithArtifact(bytes.NewReader(s.payload)), by))
		return err
	}}, nil
}

// asBundle writes a signature of the older form in the newer one.
func (s *signature) asBundle() (*bundle.Bundle, error) {
	if s.certificate == "" {
		return nil, errors.New("it has no certificate that says who signed")
	}
	chain := &protocommon.X509CertificateChain{}
	for rest := []byte(s.certificate + "\n" + s.chain); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		chain.Certificates = append(chain.Certificates, &protocommon.X509Certificate{RawBytes: block.Bytes})
	}
	if len(chain.Certificates) == 0 {
		return nil, errors.New("its certificate is not PEM")
	}
	entry, err := s.rekorEntry()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(s.payload)
	return bundle.NewBundle(&protobundle.Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle+json;version=0.1",
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content:     &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: chain},
			TlogEntries: []*protorekor.TransparencyLogEntry{entry},
		},
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: sum[:]},
			Signature:     s.signed,
		}},
	})
}
