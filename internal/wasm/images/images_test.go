package images_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm/images"
)

func TestImage(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	const config = `{"architecture":"amd64","os":"linux","config":{"User":"65532"},"rootfs":{"type":"layers","diff_ids":[]}}`
	one := f.image("v1", config)
	platform := func(os, arch string) *ocispec.Platform { return &ocispec.Platform{OS: os, Architecture: arch} }
	index := func(p *ocispec.Platform) ocispec.Index {
		other := one
		other.Platform = platform("windows", runtime.GOARCH)
		mine := one
		mine.Platform = p
		return ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{other, mine}}
	}
	several := f.manifest("several", ocispec.MediaTypeImageIndex, index(platform("linux", runtime.GOARCH)))
	f.manifest("foreign", ocispec.MediaTypeImageIndex, index(platform("linux", "other")))
	f.manifest("list", ocispec.MediaTypeImageManifest, []byte("[]"))
	f.manifest("bare", ocispec.MediaTypeImageManifest, []byte(`{"schemaVersion":2}`))
	f.manifest("large", ocispec.MediaTypeImageManifest, []byte(`{"a":"`+strings.Repeat("x", 5<<20)+`"}`))
	text := f.image("text", `"no object"`)
	gone := f.image("gone", `{"gone":true}`)
	forged := f.image("forged", `{"forged":true}`)
	for d, content := range f.blobs {
		switch string(content) {
		case `{"gone":true}`:
			delete(f.blobs, d)
		case `{"forged":true}`:
			f.blobs[d] = []byte(`{"forged":1234}`)
		}
	}
	f.manifests["sha256:"+strings.Repeat("0", 64)] = f.manifests["v1"]
	f.types["sha256:"+strings.Repeat("0", 64)] = ocispec.MediaTypeImageManifest
	_, _, _ = text, gone, forged
	whole := func(d ocispec.Descriptor) string {
		return `{"manifest":` + string(f.manifests["v1"]) + `,"digest":"` + d.Digest.String() + `","config":` + config + `}`
	}
	cases := map[string]struct {
		operation   hostcall.Operation
		image       string
		answer, err string
	}{
		"digest":                {hostcall.ManifestDigest, f.name(":v1"), `{"digest":"` + one.Digest.String() + `"}`, ""},
		"digest of an index":    {hostcall.ManifestDigest, f.name(":several"), `{"digest":"` + several.Digest.String() + `"}`, ""},
		"by digest":             {hostcall.ManifestDigest, f.name("@" + one.Digest.String()), `{"digest":"` + one.Digest.String() + `"}`, ""},
		"by tag and digest":     {hostcall.ManifestDigest, f.name(":other@" + one.Digest.String()), `{"digest":"` + one.Digest.String() + `"}`, ""},
		"manifest":              {hostcall.Manifest, f.name(":v1"), string(f.manifests["v1"]), ""},
		"index":                 {hostcall.Manifest, f.name(":several"), string(f.manifests["several"]), ""},
		"config":                {hostcall.ManifestAndConfig, f.name(":v1"), whole(one), ""},
		"config of an index":    {hostcall.ManifestAndConfig, f.name(":several"), whole(one), ""},
		"no such platform":      {hostcall.ManifestAndConfig, f.name(":foreign"), "", "no image for linux/"},
		"no config":             {hostcall.ManifestAndConfig, f.name(":bare"), "", "names no configuration"},
		"config is text":        {hostcall.ManifestAndConfig, f.name(":text"), "", "configuration is not a JSON object"},
		"config is gone":        {hostcall.ManifestAndConfig, f.name(":gone"), "", "not found"},
		"config is forged":      {hostcall.ManifestAndConfig, f.name(":forged"), "", "not what its digest"},
		"no such tag":           {hostcall.Manifest, f.name(":nothing"), "", "not found"},
		"latest is meant":       {hostcall.Manifest, f.name(""), "", "not found"},
		"manifest is a list":    {hostcall.Manifest, f.name(":list"), "", "not a JSON object"},
		"manifest is large":     {hostcall.Manifest, f.name(":large"), "", "are read at most"},
		"manifest is forged":    {hostcall.Manifest, f.name("@sha256:" + strings.Repeat("0", 64)), "", "digest"},
		"no name":               {hostcall.Manifest, "Not An Image", "", "not the name of an image"},
		"empty":                 {hostcall.Manifest, "", "", "not the name of an image"},
		"not about images":      {hostcall.LookupHost, f.name(":v1"), "", "nothing that is asked"},
		"with a scheme":         {hostcall.Manifest, "https://" + f.name(":v1"), "", "not the name of an image"},
		"with another protocol": {hostcall.Manifest, f.name(":v1") + "?a=b", "", "not the name of an image"},
	}
	r := f.registries(images.Options{})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			answer, err := r.Image(t.Context(), &hostcall.Image{Operation: c.operation, Image: c.image})
			if c.err == "" && (err != nil || string(answer) != c.answer) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%s, %v", answer, err)
			}
			if c.err == "" && !json.Valid(answer) {
				t.Errorf("%s is not JSON", answer)
			}
		})
	}
}

// TestKept asks a registry once a minute, and again after an error.
func TestKept(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	clock := clocktesting.NewFakeClock(time.Now())
	r := f.registries(images.Options{Clock: clock})
	ask := func(want int64, good bool) {
		t.Helper()
		if _, err := r.Image(t.Context(), &hostcall.Image{Operation: hostcall.ManifestDigest, Image: f.name(":v1")}); (err == nil) != good {
			t.Error(err)
		}
		if got := f.asked.Load(); got != want {
			t.Errorf("the registry was asked %d times, want %d", got, want)
		}
	}
	ask(1, false)
	f.image("v1", "{}")
	ask(2, true)
	ask(2, true)
	clock.Step(61 * time.Second)
	ask(3, true)
}

// TestMadeUpAnswersAreKeptApart: what is found for a request that may be made up is given to
// no other, and takes nothing from it.
func TestMadeUpAnswersAreKeptApart(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.image("v1", "{}")
	r := f.registries(images.Options{Clock: clocktesting.NewFakeClock(time.Now())})
	for i, c := range []struct {
		ctx  context.Context
		want int64
	}{
		{contextgate.Quietly(t.Context()), 1}, {contextgate.Quietly(t.Context()), 1}, {t.Context(), 2}, {t.Context(), 2}, {contextgate.Quietly(t.Context()), 2},
	} {
		if _, err := r.Image(c.ctx, &hostcall.Image{Operation: hostcall.ManifestDigest, Image: f.name(":v1")}); err != nil {
			t.Fatal(err)
		}
		if got := f.asked.Load(); got != c.want {
			t.Errorf("question %d: the registry was asked %d times, want %d", i, got, c.want)
		}
	}
}

// TestGuard makes sure that a name leads to no address that is not public, unless
// the administrator said so.
func TestGuard(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.image("v1", "{}")
	port := f.host[strings.LastIndex(f.host, ":"):]
	ask := func(o images.Options, image string) error {
		o.Timeout = 5 * time.Second
		_, err := images.New(o).Image(t.Context(), &hostcall.Image{Operation: hostcall.ManifestDigest, Image: image})
		return err
	}
	for name, c := range map[string]struct {
		o          images.Options
		image, err string
	}{
		"not listed":              {images.Options{}, f.name(":v1"), "not a public address"},
		"by another name":         {images.Options{}, "localhost" + port + "/team/web:v1", "not a public address"},
		"metadata of a cloud":     {images.Options{}, "169.254.169.254/latest/meta:v1", "not a public address"},
		"in IPv6":                 {images.Options{}, "[::1]" + port + "/team/web:v1", "not a public address"},
		"IPv4 in IPv6":            {images.Options{}, "[::ffff:7f00:1]" + port + "/team/web:v1", "not a public address"},
		"another one is listed":   {images.Options{PlainHTTP: []string{"localhost:1"}}, f.name(":v1"), "not a public address"},
		"listed, and speaks TLS":  {images.Options{Private: []string{"127.0.0.1"}}, f.name(":v1"), "server gave HTTP response"},
		"listed without its port": {images.Options{PlainHTTP: []string{"127.0.0.1"}}, f.name(":v1"), ""},
		"listed with its port":    {images.Options{PlainHTTP: []string{f.host}}, f.name(":v1"), ""},
	} {
		if err := ask(c.o, c.image); c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
	// A registry that is listed may not send anybody elsewhere.
	for name, handler := range map[string]http.HandlerFunc{
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+f.host+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"a redirect with TLS": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://"+f.host+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"a token": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+f.host+`/token",service="a"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
	} {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		host := strings.TrimPrefix(server.URL, "http://")
		before := f.asked.Load()
		err := ask(images.Options{PlainHTTP: []string{host}}, host+"/team/web:v1")
		if err == nil || f.asked.Load() != before || !strings.Contains(err.Error(), "not listed") && !strings.Contains(err.Error(), "not a public address") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
