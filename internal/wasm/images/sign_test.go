package images_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

const (
	simpleType = "application/vnd.dev.cosign.simplesigning.v1+json"
	bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"
)

// layer is a signature as it is pushed.
type layer struct {
	payload     []byte
	annotations map[string]string
}

// simple is what cosign signs.
func simple(digest, optional string) []byte {
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":%s}`, digest, optional)
}

// sign pushes signatures to where cosign looks for those of an image.
func (f *fake) sign(image ocispec.Descriptor, signatures ...layer) {
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: f.blob(ocispec.MediaTypeImageConfig, []byte("{}"))}
	for _, s := range signatures {
		d := f.blob(simpleType, s.payload)
		d.Annotations = s.annotations
		m.Layers = append(m.Layers, d)
	}
	f.manifest(strings.Replace(image.Digest.String(), ":", "-", 1)+".sig", ocispec.MediaTypeImageManifest, m)
}

// attach pushes a bundle that refers to an image.
func (f *fake) attach(image ocispec.Descriptor, bundle []byte) {
	d := f.manifest("", ocispec.MediaTypeImageManifest, ocispec.Manifest{
		MediaType: ocispec.MediaTypeImageManifest, ArtifactType: bundleType, Subject: &image,
		Config: f.blob(ocispec.MediaTypeEmptyJSON, []byte("{}")), Layers: []ocispec.Descriptor{f.blob(bundleType, bundle)},
	})
	d.ArtifactType = bundleType
	f.referrers[image.Digest.String()] = append(f.referrers[image.Digest.String()], d)
}

func signed(payload, signature []byte) layer {
	return layer{payload, map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)}}
}

// keys are one of each kind that cosign signs with.
func keys(t testing.TB) map[string]crypto.Signer {
	t.Helper()
	made := map[string]crypto.Signer{}
	add := func(name string, k crypto.Signer, err error) {
		if err != nil {
			t.Fatal(err)
		}
		made[name] = k
	}
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	add("P-256", p256, err)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	add("P-384", p384, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	add("RSA", rsaKey, err)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	add("Ed25519", edKey, err)
	return made
}

// bySigner signs as cosign does, with a hash.
func bySigner(t testing.TB, k crypto.Signer, h crypto.Hash, message []byte) []byte {
	t.Helper()
	var options crypto.SignerOpts = h
	if _, ok := k.(ed25519.PrivateKey); ok {
		options = crypto.Hash(0)
	} else if h == crypto.SHA384 {
		sum := sha512.Sum384(message)
		message = sum[:]
	} else {
		sum := sha256.Sum256(message)
		message = sum[:]
	}
	signature, err := k.Sign(rand.Reader, message, options)
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func publicPEM(t testing.TB, k crypto.PublicKey) string {
	t.Helper()
	text, err := cryptoutils.MarshalPublicKeyToPEM(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keylessly signs as somebody, whom an authority vouches for, and enters it into the
// log.
func keylessly(t testing.TB, sigstore *ca.VirtualSigstore, subject, issuer string, payload []byte) layer {
	t.Helper()
	leaf, key, err := sigstore.GenerateLeafCert(subject, issuer)
	if err != nil {
		t.Fatal(err)
	}
	signature := bySigner(t, key.(crypto.Signer), crypto.SHA256, payload)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})
	sum := sha256.Sum256(payload)
	body, err := json.Marshal(map[string]any{"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": map[string]any{
		"data":      map[string]any{"hash": map[string]any{"algorithm": "sha256", "value": hex.EncodeToString(sum[:])}},
		"signature": map[string]any{"content": signature, "publicKey": map[string]any{"content": certificate}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	id, err := sigstore.RekorLogID()
	if err != nil {
		t.Fatal(err)
	}
	entry := tlog.RekorPayload{Body: base64.StdEncoding.EncodeToString(body), IntegratedTime: time.Now().Unix(), LogIndex: 7, LogID: id}
	timestamp, err := sigstore.RekorSignPayload(entry)
	if err != nil {
		t.Fatal(err)
	}
	rekor, err := json.Marshal(map[string]any{"SignedEntryTimestamp": timestamp, "Payload": entry})
	if err != nil {
		t.Fatal(err)
	}
	l := signed(payload, signature)
	l.annotations["dev.sigstore.cosign/certificate"] = string(certificate)
	l.annotations["dev.sigstore.cosign/bundle"] = string(rekor)
	return l
}

// keyBundle is a bundle as cosign makes it with a key, from its third version on.
func keyBundle(t testing.TB, k crypto.Signer, digest, predicate string) []byte {
	t.Helper()
	statement := fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"web","digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`, strings.TrimPrefix(digest, "sha256:"), predicate)
	const payloadType = "application/vnd.in-toto+json"
	message := fmt.Sprintf("DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(statement), statement)
	text, err := json.Marshal(map[string]any{
		"mediaType":            bundleType,
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "k"}},
		"dsseEnvelope": map[string]any{
			"payload": []byte(statement), "payloadType": payloadType,
			"signatures": []any{map[string]any{"sig": bySigner(t, k, crypto.SHA256, []byte(message))}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
