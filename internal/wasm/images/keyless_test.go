package images_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm/images"
)

// private is a Sigstore of one's own, whose authority logs no certificates.
type private struct{ *ca.VirtualSigstore }

func (private) CTLogs() map[string]*root.TransparencyLog { return nil }

func newSigstore(t *testing.T) private {
	t.Helper()
	sigstore, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	return private{sigstore}
}

func TestVerifyKeyless(t *testing.T) {
	t.Parallel()
	const (
		google   = "https://accounts.google.com"
		github   = "https://token.actions.githubusercontent.com"
		workflow = "https://github.com/team/web/.github/workflows/release.yml@refs/tags/v1"
	)
	sigstore, stranger := newSigstore(t), newSigstore(t)
	f := newFake(t)
	trusting := f.registries(images.Options{TrustedRoot: sigstore, Keep: -1})
	image := f.image("v1", "{}")
	payload := simple(image.Digest.String(), `{"env":"prod"}`)
	f.sign(image, keylessly(t, sigstore.VirtualSigstore, "ann@example.com", google, payload), keylessly(t, sigstore.VirtualSigstore, workflow, github, payload))
	exact := func(pairs ...string) *hostcall.Verify {
		v := &hostcall.Verify{Type: hostcall.KeylessExact, Image: f.name(":v1")}
		for i := 0; i < len(pairs); i += 2 {
			v.Keyless = append(v.Keyless, hostcall.Keyless{Issuer: pairs[i], Subject: pairs[i+1]})
		}
		return v
	}
	prefix := func(issuer, p string) *hostcall.Verify {
		v := exact(issuer, p)
		v.Type = hostcall.KeylessPrefix
		return v
	}
	actions := func(owner, repo string) *hostcall.Verify {
		return &hostcall.Verify{Type: hostcall.GithubActions, Image: f.name(":v1"), Owner: owner, Repo: repo}
	}
	annotated := exact(google, "ann@example.com")
	annotated.Annotations = map[string]string{"env": "prod"}
	elsewhere := exact(google, "ann@example.com")
	elsewhere.Annotations = map[string]string{"env": "test"}
	for name, c := range map[string]struct {
		asked *hostcall.Verify
		want  string
	}{
		"somebody":             {exact(google, "ann@example.com"), ""},
		"two":                  {exact(google, "ann@example.com", github, workflow), ""},
		"with an annotation":   {annotated, ""},
		"another annotation":   {elsewhere, "not signed along"},
		"another person":       {exact(google, "bob@example.com"), "subject: !equal bob@example.com"},
		"another issuer":       {exact(github, "ann@example.com"), "no signature is that of"},
		"one of two":           {exact(google, "ann@example.com", google, "bob@example.com"), "bob@example.com"},
		"part of a name":       {exact(google, "ann@example.co"), "no signature is that of"},
		"nobody":               {exact(google, ""), "both needed"},
		"any issuer":           {exact("", "ann@example.com"), "both needed"},
		"a prefix":             {prefix(github, "https://github.com/team/"), ""},
		"a prefix, no slash":   {prefix(github, "https://github.com/team"), ""},
		"half a name":          {prefix(github, "https://github.com/tea"), "!urlPrefix https://github.com/tea/"},
		"a prefix, no URL":     {prefix(github, "github.com/team"), "is not a URL"},
		"a prefix, a pattern":  {prefix(github, "https://github.com/.*"), "no signature is that of"},
		"an owner":             {actions("team", ""), ""},
		"an owner's workflow":  {actions("team", "web"), ""},
		"another owner":        {actions("teams", ""), "no signature is that of"},
		"another repository":   {actions("team", "we"), "no signature is that of"},
		"an owner with a path": {actions("team/web", ""), "not a name on GitHub"},
	} {
		t.Run(name, func(t *testing.T) { check(t, trusting, c.asked, image.Digest.String(), c.want) })
	}
	t.Run("no root of trust", func(t *testing.T) {
		check(t, f.registries(images.Options{}), exact(google, "ann@example.com"), "", "--sigstore-trusted-root")
	})
	t.Run("another root of trust", func(t *testing.T) {
		check(t, f.registries(images.Options{TrustedRoot: stranger}), exact(google, "ann@example.com"), "", "no signature is that of")
	})
	t.Run("a certificate that was not logged", func(t *testing.T) {
		check(t, f.registries(images.Options{TrustedRoot: sigstore.VirtualSigstore}), exact(google, "ann@example.com"), "", "signed certificate timestamp")
	})
	t.Run("what was taken away or swapped", func(t *testing.T) {
		whole := keylessly(t, sigstore.VirtualSigstore, "ann@example.com", google, payload)
		for _, name := range []string{"dev.sigstore.cosign/certificate", "dev.sigstore.cosign/bundle"} {
			for _, value := range []string{"", "nonsense", keylessly(t, sigstore.VirtualSigstore, "ann@example.com", google, payload).annotations[name]} {
				l := layer{whole.payload, map[string]string{}}
				for k, v := range whole.annotations {
					l.annotations[k] = v
				}
				l.annotations[name] = value
				f.sign(image, l)
				check(t, trusting, exact(google, "ann@example.com"), "", "no signature is that of")
			}
		}
	})
}

func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func TestVerifyCertificate(t *testing.T) {
	t.Parallel()
	rootCA, rootKey, err := ca.GenerateRootCa()
	if err != nil {
		t.Fatal(err)
	}
	otherCA, _, err := ca.GenerateRootCa()
	if err != nil {
		t.Fatal(err)
	}
	middle, middleKey, err := ca.GenerateFulcioIntermediate(rootCA, rootKey)
	if err != nil {
		t.Fatal(err)
	}
	key := keys(t)["P-256"].(*ecdsa.PrivateKey)
	leaf, err := ca.GenerateLeafCert("ann@example.com", "https://accounts.google.com", time.Now(), key, middle, middleKey)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(t)
	image := f.image("v1", "{}")
	payload := simple(image.Digest.String(), "{}")
	f.sign(image, signed(payload, bySigner(t, key, crypto.SHA256, payload)))
	now := leaf.NotBefore.Add(time.Minute)
	at := func(when time.Time, o images.Options) *images.Registries {
		o.Clock, o.Keep = clocktesting.NewFakePassiveClock(when), -1
		return f.registries(o)
	}
	ask := func(rekor bool, chain ...*x509.Certificate) *hostcall.Verify {
		v := &hostcall.Verify{Type: hostcall.ByCertificate, Image: f.name(":v1"), Certificate: certificatePEM(leaf), RequireRekorBundle: rekor}
		for _, c := range chain {
			v.CertificateChain = append(v.CertificateChain, certificatePEM(c))
		}
		return v
	}
	digest := image.Digest.String()
	check(t, at(now, images.Options{}), ask(false, middle, rootCA), digest, "")
	check(t, at(now, images.Options{}), ask(false), digest, "")
	check(t, at(now, images.Options{}), ask(false, middle, otherCA), "", "certificate is not trusted")
	check(t, at(now, images.Options{}), ask(false, rootCA), "", "certificate is not trusted")
	check(t, at(now.AddDate(1, 0, 0), images.Options{}), ask(false, middle, rootCA), "", "certificate is not trusted")
	check(t, at(now.AddDate(1, 0, 0), images.Options{}), ask(false), "", "was not valid on")
	check(t, at(now, images.Options{}), ask(true, middle, rootCA), "", "--sigstore-trusted-root")
	check(t, at(now, images.Options{TrustedRoot: newSigstore(t)}), ask(true, middle, rootCA), "", "has no entry of a transparency log")
	bad := ask(false)
	bad.Certificate = []byte("no certificate")
	check(t, at(now, images.Options{}), bad, "", "not a certificate in PEM")
	double := ask(false, middle)
	double.CertificateChain[0] = append(certificatePEM(middle), certificatePEM(rootCA)...)
	check(t, at(now, images.Options{}), double, "", "certificate_chain[0]")

	// A log that is trusted tells when the certificate was used.
	sigstore := newSigstore(t)
	logged := keylessly(t, sigstore.VirtualSigstore, "ann@example.com", "https://accounts.google.com", payload)
	block, _ := pem.Decode([]byte(logged.annotations["dev.sigstore.cosign/certificate"]))
	if leaf, err = x509.ParseCertificate(block.Bytes); err != nil {
		t.Fatal(err)
	}
	f.sign(image, logged)
	later := time.Now().AddDate(1, 0, 0)
	check(t, at(later, images.Options{TrustedRoot: sigstore}), ask(true), digest, "")
	check(t, at(later, images.Options{TrustedRoot: sigstore}), ask(false), digest, "")
	check(t, at(later, images.Options{}), ask(false), "", "was not valid on")
	check(t, at(later, images.Options{TrustedRoot: newSigstore(t)}), ask(true), "", "is not to be trusted")
	stolen := keylessly(t, sigstore.VirtualSigstore, "ann@example.com", "https://accounts.google.com", payload)
	logged.annotations["dev.sigstore.cosign/bundle"] = stolen.annotations["dev.sigstore.cosign/bundle"]
	f.sign(image, logged)
	check(t, at(later, images.Options{TrustedRoot: sigstore}), ask(true), "", "that of another signature")
}
