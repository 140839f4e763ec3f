package images_test

import (
	"crypto"
	"crypto/rsa"
	"math/big"
	"strings"
	"testing"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm/images"
)

// check asks for a verification, and holds the answer to what is wanted: the digest,
// or a part of the error.
func check(t *testing.T, r *images.Registries, asked *hostcall.Verify, digest, want string) {
	t.Helper()
	answer, err := r.Verify(t.Context(), asked)
	if want == "" {
		if expected := `{"is_trusted":true,"digest":"` + digest + `"}`; err != nil || string(answer) != expected {
			t.Errorf("%s, %v, want %s", answer, err, expected)
		}
		return
	}
	if err == nil || answer != nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s, %v, want %q", answer, err, want)
	}
}

func TestVerifyKeys(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.registries(images.Options{Keep: -1})
	have := keys(t)
	stranger := publicPEM(t, keys(t)["P-256"].Public())
	short := publicPEM(t, &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 1023, 1), E: 65537})
	for kind, k := range have {
		image := f.image(strings.ToLower(kind), `{"kind":"`+kind+`"}`)
		payload := simple(image.Digest.String(), `{"env":"prod","n":1}`)
		f.sign(image, signed(payload, []byte("nonsense")), signed(payload, bySigner(t, k, crypto.SHA256, payload)))
		ask := func(annotations map[string]string, keys ...string) *hostcall.Verify {
			return &hostcall.Verify{Type: hostcall.PubKey, Image: f.name(":" + strings.ToLower(kind)), PubKeys: keys, Annotations: annotations}
		}
		mine, digest := publicPEM(t, k.Public()), image.Digest.String()
		t.Run(kind, func(t *testing.T) {
			check(t, r, ask(nil, mine), digest, "")
			check(t, r, ask(map[string]string{"env": "prod"}, mine), digest, "")
			check(t, r, ask(map[string]string{"env": "test"}, mine), "", "env=test was not signed along")
			check(t, r, ask(map[string]string{"n": "1"}, mine), "", "n=1 was not signed along")
			check(t, r, ask(map[string]string{"critical": "x"}, mine), "", "not signed along")
			check(t, r, ask(nil, stranger), "", "made with another key")
			check(t, r, ask(nil, mine, stranger), "", "made with another key")
			check(t, r, ask(nil, "no key"), "", "pub_keys[0] is not a public key")
			check(t, r, ask(nil, short), "", "from 2048 to 8192")
			check(t, r, ask(nil), "", "nobody is named")
		})
	}
	p384 := have["P-384"]
	image := f.image("sha384", "{}")
	payload := simple(image.Digest.String(), "null")
	f.sign(image, signed(payload, bySigner(t, p384, crypto.SHA384, payload)))
	check(t, r, &hostcall.Verify{Type: hostcall.PubKey, Image: f.name(":sha384"), PubKeys: []string{publicPEM(t, p384.Public())}}, image.Digest.String(), "")
}

// TestVerifyTwoKeys wants a signature of each.
func TestVerifyTwoKeys(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	have := keys(t)
	image := f.image("v1", "{}")
	payload := simple(image.Digest.String(), "{}")
	f.sign(image, signed(payload, bySigner(t, have["P-256"], crypto.SHA256, payload)), signed(payload, bySigner(t, have["RSA"], crypto.SHA256, payload)))
	both := []string{publicPEM(t, have["RSA"].Public()), publicPEM(t, have["P-256"].Public())}
	check(t, f.registries(images.Options{}), &hostcall.Verify{Type: hostcall.PubKey, Image: f.name(":v1"), PubKeys: both}, image.Digest.String(), "")
}

// TestVerifyWhatIsNoSignature tries what somebody would who has no key.
func TestVerifyWhatIsNoSignature(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.registries(images.Options{Keep: -1})
	k := keys(t)["P-256"]
	other := f.image("other", `{"other":true}`)
	sign := func(payload []byte) layer { return signed(payload, bySigner(t, k, crypto.SHA256, payload)) }
	for name, c := range map[string]struct {
		layers func(digest string) []layer
		want   string
	}{
		"none":                  {func(string) []layer { return nil }, "no signature of sha256:"},
		"that of another image": {func(string) []layer { return []layer{sign(simple(other.Digest.String(), "{}"))} }, "no signature of sha256:"},
		"another type": {func(d string) []layer {
			return []layer{sign([]byte(strings.Replace(string(simple(d, "{}")), "cosign container image signature", "atomic container signature", 1)))}
		}, "no signature of sha256:"},
		"a digest that stands twice": {func(d string) []layer {
			return []layer{sign([]byte(strings.Replace(string(simple(other.Digest.String(), "{}")), `"image":{`, `"image":{"docker-manifest-digest":"`+d+`",`, 1)))}
		}, "no signature of sha256:"},
		"a payload that was changed": {func(d string) []layer {
			s := sign(simple(other.Digest.String(), "{}"))
			s.payload = simple(d, "{}")
			return []layer{s}
		}, "made with another key"},
		"no base64": {func(d string) []layer {
			s := sign(simple(d, "{}"))
			s.annotations["dev.cosignproject.cosign/signature"] = "%"
			return []layer{s}
		}, "no signature of sha256:"},
		"too many": {func(d string) []layer {
			var many []layer
			for range 70 {
				many = append(many, signed(simple(d, "{}"), []byte("x")))
			}
			return append(many, sign(simple(d, "{}")))
		}, "more than the 64 signatures"},
		"too large": {func(d string) []layer {
			return []layer{sign(simple(d, `{"a":"`+strings.Repeat("x", 2<<20)+`"}`))}
		}, "are read at most"},
	} {
		tag := strings.ReplaceAll(name, " ", "-")
		image := f.image(tag, `{"name":"`+name+`"}`)
		f.sign(image, c.layers(image.Digest.String())...)
		t.Run(name, func(t *testing.T) {
			check(t, r, &hostcall.Verify{Type: hostcall.PubKey, Image: f.name(":" + tag), PubKeys: []string{publicPEM(t, k.Public())}}, "", c.want)
		})
	}
	f.image("unsigned", `{"unsigned":true}`)
	check(t, r, &hostcall.Verify{Type: hostcall.PubKey, Image: f.name(":unsigned"), PubKeys: []string{publicPEM(t, k.Public())}}, "", "no signature of sha256:")
	check(t, r, &hostcall.Verify{Type: "SigstoreSomething", Image: f.name(":unsigned")}, "", "not a way to verify it")
}

// TestVerifyBundles verifies what cosign pushes from its third version on.
func TestVerifyBundles(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.registries(images.Options{Keep: -1})
	k := keys(t)["P-256"]
	const signs = "https://sigstore.dev/cosign/sign/v1"
	other := f.image("other", `{"other":true}`)
	for name, c := range map[string]struct {
		bundle      func(digest string) []byte
		annotations map[string]string
		want        string
	}{
		"signed":             {func(d string) []byte { return keyBundle(t, k, d, signs) }, nil, ""},
		"with annotations":   {func(d string) []byte { return keyBundle(t, k, d, signs) }, map[string]string{"a": "b"}, "not looked for in bundles"},
		"an attestation":     {func(d string) []byte { return keyBundle(t, k, d, "https://slsa.dev/provenance/v1") }, nil, "and not that it was signed"},
		"of another image":   {func(string) []byte { return keyBundle(t, k, other.Digest.String(), signs) }, nil, "no signature is that of the key"},
		"by somebody else":   {func(d string) []byte { return keyBundle(t, keys(t)["P-256"], d, signs) }, nil, "no signature is that of the key"},
		"no bundle":          {func(string) []byte { return []byte(`{"mediaType":"a"}`) }, nil, "no signature of sha256:"},
		"a bundle of nobody": {func(string) []byte { return []byte(`{"mediaType":"` + bundleType + `"}`) }, nil, "no signature of sha256:"},
	} {
		tag := strings.ReplaceAll(name, " ", "-")
		image := f.image(tag, `{"name":"`+name+`"}`)
		f.attach(image, c.bundle(image.Digest.String()))
		t.Run(name, func(t *testing.T) {
			asked := &hostcall.Verify{Type: hostcall.PubKey, Image: f.name(":" + tag), PubKeys: []string{publicPEM(t, k.Public())}, Annotations: c.annotations}
			check(t, r, asked, image.Digest.String(), c.want)
		})
	}
}
