package module_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// shelf is a registry with one repository, by tags and digests.
type shelf map[string][]byte

func (s shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/team/policy/"), "/")
	content, ok := s[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	w.Header().Set("Docker-Content-Digest", digest.FromBytes(content).String())
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	_, _ = w.Write(content)
}

func (s shelf) add(tag string, content []byte) string {
	d := digest.FromBytes(content).String()
	s[d] = content
	if tag != "" {
		s[tag] = content
	}
	return d
}

// artifact adds a manifest with one layer.
func (s shelf) artifact(tag, mediaType string, layer []byte, annotations map[string]string) string {
	config := s.add("", []byte("{}"))
	text, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": map[string]any{"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config, "size": 2},
		"layers": []any{map[string]any{"mediaType": mediaType, "digest": s.add("", layer), "size": len(layer), "annotations": annotations}},
	})
	if err != nil {
		panic(err)
	}
	return s.add(tag, text)
}

// TestRegistry runs a module from a registry that has to be signed, and that asks
// about itself.
func TestRegistry(t *testing.T) {
	b := newBench(t)
	wasm, err := os.ReadFile(filepath.Join(b.dir, "annotated-policy.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	shop := shelf{}
	server := httptest.NewServer(shop)
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	signed := shop.artifact("v1", "application/vnd.wasm.content.layer.v1+wasm", wasm, nil)
	shop.artifact("unsigned", "application/vnd.wasm.content.layer.v1+wasm", append(wasm, 0, 2, 1, 'a'), nil)

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]*ecdsa.PrivateKey{"cosign.pub": key, "other.pub": other} {
		text, err := cryptoutils.MarshalPublicKeyToPEM(k.Public())
		if err != nil {
			t.Fatal(err)
		}
		b.write(name, string(text))
	}
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":{"env":"prod"}}`, signed)
	sum := sha256.Sum256(payload)
	signature, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	shop.artifact(strings.Replace(signed, ":", "-", 1)+".sig", "application/vnd.dev.cosign.simplesigning.v1+json", payload,
		map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)})

	ask := func(operation, payload string) string {
		return calling(`{"namespace":"oci","operation":"` + operation + `","payload":` + payload + `}`)
	}
	image := host + "/team/policy"
	public, err := os.ReadFile(filepath.Join(b.dir, "cosign.pub"))
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(string(public))
	if err != nil {
		t.Fatal(err)
	}
	verify := func(tag string) string {
		return `{"type":"SigstorePubKeyVerify","image":"` + image + ":" + tag + `","pub_keys":[` + string(quoted) + `],"annotations":null}`
	}
	listed := []string{"--insecure-registry", host, "-r", "request.json"}
	for name, c := range map[string]struct {
		words  []string
		status int
		match  []string
	}{
		"signed":                  {[]string{"registry://" + image + ":v1", "-k", "cosign.pub"}, 0, []string{`"allowed":true`}},
		"signed, by its digest":   {[]string{"registry://" + image + "@" + signed, "-k", "cosign.pub", "-a", "env=prod"}, 0, []string{`"allowed":true`}},
		"by somebody else":        {[]string{"registry://" + image + ":v1", "-k", "other.pub"}, 2, []string{`was not run`, `another key`}},
		"by both":                 {[]string{"registry://" + image + ":v1", "-k", "cosign.pub", "-k", "other.pub"}, 2, []string{`was not run`}},
		"with another annotation": {[]string{"registry://" + image + ":v1", "-k", "cosign.pub", "-a", "env=test"}, 2, []string{`was not run`}},
		"unsigned":                {[]string{"registry://" + image + ":unsigned", "-k", "cosign.pub"}, 2, []string{`was not run`, `no signature`}},
		"without a root of trust": {[]string{"registry://" + image + ":v1", "--github-owner", "team"}, 2, []string{`was not run`, `--sigstore-trusted-root`}},
		"asks for a digest":       {[]string{"policy.wasm", "--allowed-host-capabilities", "oci/*", "--settings-json", ask("v1/manifest_digest", `"`+image+`:v1"`)}, 0, []string{`"allowed":true`, signed}},
		"asks for a manifest":     {[]string{"policy.wasm", "--allowed-host-capabilities", "oci/v1/oci_manifest", "--settings-json", ask("v1/oci_manifest", `"`+image+`:v1"`)}, 0, []string{`"allowed":true`, `vnd\.wasm\.content\.layer`}},
		"asks for a config":       {[]string{"policy.wasm", "--allow-context-aware", "--settings-json", ask("v1/oci_manifest_config", `"`+image+`:v1"`)}, 0, []string{`"allowed":true`, `\\"config\\":\{\}`}},
		"asks who signed":         {[]string{"policy.wasm", "--allowed-host-capabilities", "oci/*", "--settings-json", ask("v2/verify", verify("v1"))}, 0, []string{`"allowed":true`, `\\"is_trusted\\":true`}},
		"asks who did not sign":   {[]string{"policy.wasm", "--allowed-host-capabilities", "oci/*", "--settings-json", ask("v2/verify", verify("unsigned"))}, 0, []string{`"allowed":false`, `is not trusted`}},
		"may not ask":             {[]string{"policy.wasm", "--allowed-host-capabilities", "net/*", "--settings-json", ask("v2/verify", verify("v1"))}, 0, []string{`"allowed":false`, `oci/v2/verify is not in`}},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := b.run("", append(c.words, listed...)...)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			checkOutput(t, out, errs, c.match, nil)
		})
	}
}
