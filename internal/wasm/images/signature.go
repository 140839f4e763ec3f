package images

import (
	"context"
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"oras.land/oras-go/v2/errdef"
)

// What cosign calls things.
const (
	simpleSigning   = "application/vnd.dev.cosign.simplesigning.v1+json"
	signingType     = "cosign container image signature"
	signatureKey    = "dev.cosignproject.cosign/signature"
	certificateKey  = "dev.sigstore.cosign/certificate"
	chainKey        = "dev.sigstore.cosign/chain"
	rekorBundleKey  = "dev.sigstore.cosign/bundle"
	bundleArtifact  = "application/vnd.dev.sigstore.bundle.v0.3+json"
	bundlePredicate = "https://sigstore.dev/cosign/sign/v1"
)

// How many signatures of an image are looked at, and how large each may be.
const (
	mostSignatures = 64
	maxSignature   = 1 << 20
)

// signature is a signature of an image that was found. It is not verified yet.
type signature struct {
	// digest is that of the image.
	digest string
	// bundle is set for signatures in the newer form. What follows is for the older.
	bundle *bundle.Bundle

	payload, signed    []byte
	certificate, chain string
	rekor              string
	// named are the annotations that were signed along.
	named map[string]any
}

// signatures finds the signatures of an image, in the form of cosign before its
// third version, and in that from then on.
func (i *image) signatures(ctx context.Context) ([]*signature, error) {
	found, err := i.older(ctx)
	if err != nil {
		return nil, fmt.Errorf("its signatures cannot be read: %w", err)
	}
	newer, err := i.newer(ctx)
	if err != nil && len(found) == 0 {
		return nil, fmt.Errorf("its signatures cannot be read: %w", err)
	}
	return append(found, newer...), nil
}

// older reads signatures from the tag that is made of the image's digest.
func (i *image) older(ctx context.Context) ([]*signature, error) {
	tag := strings.Replace(i.descriptor.Digest.String(), ":", "-", 1) + ".sig"
	_, raw, err := i.fetchManifest(ctx, tag)
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var manifest ocispec.Manifest
	if err := stdjson.Unmarshal(raw, &manifest); err != nil {
		return nil, fmt.Errorf("the manifest of its signatures cannot be read: %w", err)
	}
	var found []*signature
	for _, layer := range manifest.Layers {
		if layer.MediaType != simpleSigning {
			continue
		}
		if len(found) == mostSignatures {
			return nil, fmt.Errorf("it has more than the %d signatures that are looked at", mostSignatures)
		}
		payload, err := i.blob(ctx, layer, maxSignature, "a signature")
		if err != nil {
			return nil, err
		}
		if s := readSimple(payload, layer.Annotations); s.names(i.descriptor.Digest.String()) {
			found = append(found, s)
		}
	}
	return found, nil
}

// readSimple reads what cosign signs. Whatever is wrong with it leaves it without a
// digest, and so without worth.
func readSimple(payload []byte, annotations map[string]string) *signature {
	var signing struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
		Optional map[string]any `json:"optional"`
	}
	s := &signature{payload: payload}
	// A name that stands twice is an error of this decoder: two readers could see
	// two digests.
	if err := json.Unmarshal(payload, &signing); err != nil || signing.Critical.Type != signingType {
		return s
	}
	signed, err := base64.StdEncoding.DecodeString(annotations[signatureKey])
	if err != nil || len(signed) == 0 {
		return s
	}
	s.signed, s.digest, s.named = signed, signing.Critical.Image.Digest, signing.Optional
	s.certificate, s.chain, s.rekor = annotations[certificateKey], annotations[chainKey], annotations[rekorBundleKey]
	return s
}

func (s *signature) names(digest string) bool { return s.digest != "" && s.digest == digest }

// newer reads bundles, which refer to the image.
func (i *image) newer(ctx context.Context) ([]*signature, error) {
	var found []*signature
	err := i.repository.Referrers(ctx, i.descriptor, bundleArtifact, func(referrers []ocispec.Descriptor) error {
		for _, d := range referrers {
			if d.ArtifactType != bundleArtifact {
				continue
			}
			if len(found) == mostSignatures {
				return fmt.Errorf("it has more than the %d signatures that are looked at", mostSignatures)
			}
			s, err := i.bundled(ctx, d)
			if err != nil {
				return err
			}
			if s != nil {
				found = append(found, s)
			}
		}
		return nil
	})
	if errors.Is(err, errdef.ErrNotFound) || errors.Is(err, errdef.ErrUnsupported) {
		err = nil
	}
	return found, err
}

// bundled reads the bundle of an artifact; nil where it holds none that can be
// understood.
func (i *image) bundled(ctx context.Context, d ocispec.Descriptor) (*signature, error) {
	_, raw, err := i.fetchManifest(ctx, d.Digest.String())
	if err != nil {
		return nil, err
	}
	var manifest ocispec.Manifest
	if stdjson.Unmarshal(raw, &manifest) != nil || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != bundleArtifact {
		return nil, nil
	}
	text, err := i.blob(ctx, manifest.Layers[0], maxSignature, "a signature")
	if err != nil {
		return nil, err
	}
	b := &bundle.Bundle{}
	if err := b.UnmarshalJSON(text); err != nil {
		return nil, nil
	}
	return &signature{digest: i.descriptor.Digest.String(), bundle: b}, nil
}

// annotated says which of the annotations the signer did not sign along.
func (s *signature) annotated(wanted map[string]string) error {
	for name, value := range wanted {
		if s.bundle != nil {
			return errors.New("annotations are not looked for in bundles")
		}
		if got, ok := s.named[name].(string); !ok || got != value {
			return fmt.Errorf("the annotation %s=%s was not signed along", name, value)
		}
	}
	return nil
}
