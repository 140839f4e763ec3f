package images_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sallyport-io/sallyport/internal/wasm/images"
)

// fake is a registry on this machine that holds one repository.
type fake struct {
	t         testing.TB
	manifests map[string][]byte // by tag and by digest
	types     map[string]string
	blobs     map[string][]byte
	referrers map[string][]ocispec.Descriptor
	asked     atomic.Int64
	host      string
}

func newFake(t testing.TB) *fake {
	f := &fake{t: t, manifests: map[string][]byte{}, types: map[string]string{}, blobs: map[string][]byte{}, referrers: map[string][]ocispec.Descriptor{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.host = strings.TrimPrefix(server.URL, "http://")
	return f
}

// registries are those that may read the fake.
func (f *fake) registries(o images.Options) *images.Registries {
	o.PlainHTTP = append(o.PlainHTTP, f.host)
	return images.New(o)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked.Add(1)
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/team/web/"), "/")
	switch kind {
	case "manifests":
		if m, ok := f.manifests[name]; ok {
			w.Header().Set("Content-Type", f.types[name])
			w.Header().Set("Content-Length", fmt.Sprint(len(m)))
			_, _ = w.Write(m)
			return
		}
	case "blobs":
		if b, ok := f.blobs[name]; ok {
			w.Header().Set("Content-Length", fmt.Sprint(len(b)))
			_, _ = w.Write(b)
			return
		}
	case "referrers":
		w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
		_ = json.NewEncoder(w).Encode(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: f.referrers[name]})
		return
	}
	http.NotFound(w, r)
}

func (f *fake) blob(mediaType string, content []byte) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	f.blobs[d.Digest.String()] = content
	return d
}

func (f *fake) manifest(tag, mediaType string, content any) ocispec.Descriptor {
	raw, ok := content.([]byte)
	if !ok {
		var err error
		if raw, err = json.Marshal(content); err != nil {
			f.t.Fatal(err)
		}
	}
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(raw), Size: int64(len(raw))}
	for _, name := range []string{tag, d.Digest.String()} {
		f.manifests[name], f.types[name] = raw, mediaType
	}
	return d
}

// image pushes an image whose configuration is config.
func (f *fake) image(tag, config string) ocispec.Descriptor {
	return f.manifest(tag, ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: f.blob(ocispec.MediaTypeImageConfig, []byte(config)), Layers: []ocispec.Descriptor{f.blob(ocispec.MediaTypeImageLayerGzip, []byte("layer of "+tag))},
	})
}

func (f *fake) name(reference string) string { return f.host + "/team/web" + reference }
