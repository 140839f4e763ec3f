// Package images answers what policies ask about images in registries: digests,
// manifests and configurations, and whether an image is signed. A registry answers
// what it likes, and signatures are what anybody may have pushed: everything is
// bounded and held to its digest.
package images

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"k8s.io/utils/clock"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm/addresses"
	"github.com/sallyport-io/sallyport/internal/wasm/hostanswer"
)

// What is read of a registry at most.
const (
	maxManifest = 4 << 20
	maxConfig   = 4 << 20
)

// Options change how registries are read. Zero values stand for the defaults.
type Options struct {
	// Private are registries, as host or host:port, that may be at an address that
	// is not public. PlainHTTP are such registries that are spoken to without TLS.
	Private, PlainHTTP []string
	// Roots are the authorities whose certificates registries may have; those of
	// the system where it is nil.
	Roots *x509.CertPool
	// Credential gives what registries ask for; nothing where it is nil.
	Credential auth.CredentialFunc
	// TrustedRoot is what keyless signatures and entries of a transparency log are
	// held to. Without it, there are none that are trusted.
	TrustedRoot root.TrustedMaterial
	// Timeout bounds an answer; 10 s where it is zero.
	Timeout time.Duration
	// Keep is how long an answer is given again without asking; 60 s where it is
	// zero, and not at all where it is negative.
	Keep time.Duration
	// Clock is the real one where it is nil.
	Clock clock.PassiveClock
}

// Registries answers questions about images. Make one with New.
type Registries struct {
	o      Options
	client *auth.Client
	plain  addresses.Hosts
	kept   *cache
	// madeUp are answers to what may be made up. They are given to no other question.
	madeUp *cache
}

var _ hostanswer.Images = (*Registries)(nil)

// New makes Registries.
func New(o Options) *Registries {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Keep == 0 {
		o.Keep = 60 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	g := newGuarded(&o)
	client := &http.Client{Transport: g, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("there are more than 5 redirects")
		}
		return nil
	}}
	return &Registries{
		o: o, plain: g.plain, kept: &cache{clock: o.Clock, period: o.Keep}, madeUp: &cache{clock: o.Clock, period: o.Keep},
		client: &auth.Client{Client: client, Credential: o.Credential, Cache: auth.NewCache()},
	}
}

func (r *Registries) keptFor(ctx context.Context) *cache {
	if contextgate.Quiet(ctx) {
		return r.madeUp
	}
	return r.kept
}

// Image answers a question about an image. The answer is JSON, as the ecosystem
// has it.
func (r *Registries) Image(ctx context.Context, asked *hostcall.Image) ([]byte, error) {
	return r.keptFor(ctx).get(asked, func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
		defer cancel()
		answer, err := r.image(ctx, asked)
		if err != nil {
			return nil, fmt.Errorf("image %q cannot be read: %w", asked.Image, err)
		}
		return answer, nil
	})
}

func (r *Registries) image(ctx context.Context, asked *hostcall.Image) ([]byte, error) {
	i, err := r.open(ctx, asked.Image)
	if err != nil {
		return nil, err
	}
	switch asked.Operation {
	case hostcall.ManifestDigest:
		return json.Marshal(map[string]any{"digest": i.descriptor.Digest})
	case hostcall.Manifest:
		return i.manifest, nil
	case hostcall.ManifestAndConfig:
		return i.withConfig(ctx)
	}
	return nil, fmt.Errorf("%s is nothing that is asked about an image", asked.Operation)
}

// image is an image that was found.
type image struct {
	repository *remote.Repository
	name       string
	descriptor ocispec.Descriptor
	manifest   []byte
}

// open finds an image by its name, which may be as short as Docker takes it.
func (r *Registries) open(ctx context.Context, name string) (*image, error) {
	named, err := reference.ParseDockerRef(name)
	if err != nil {
		return nil, fmt.Errorf("it is not the name of an image: %w", err)
	}
	where := registry.Reference{Registry: reference.Domain(named), Repository: reference.Path(named)}
	switch named := named.(type) {
	case reference.Canonical:
		where.Reference = named.Digest().String()
	case reference.Tagged:
		where.Reference = named.Tag()
	}
	if err := where.Validate(); err != nil {
		return nil, fmt.Errorf("it is not the name of an image: %w", err)
	}
	i := &image{name: named.String(), repository: &remote.Repository{
		Reference: where, Client: r.client, PlainHTTP: r.plain.Has(where.Host()),
		MaxMetadataBytes: maxManifest, SkipReferrersGC: true,
	}}
	i.descriptor, i.manifest, err = i.fetchManifest(ctx, where.Reference)
	return i, err
}

// fetchManifest reads a manifest, and holds it to its digest.
func (i *image) fetchManifest(ctx context.Context, tagOrDigest string) (ocispec.Descriptor, []byte, error) {
	d, body, err := i.repository.FetchReference(ctx, tagOrDigest)
	if err != nil {
		return d, nil, err
	}
	defer body.Close()
	if wanted, err := digest.Parse(tagOrDigest); err == nil && wanted != d.Digest {
		return d, nil, fmt.Errorf("the registry answered with %s", d.Digest)
	}
	manifest, err := bounded(body, d, maxManifest, "the manifest")
	if err == nil && !isObject(manifest) {
		err = errors.New("the manifest is not a JSON object")
	}
	return d, manifest, err
}

// blob reads what a descriptor describes.
func (i *image) blob(ctx context.Context, d ocispec.Descriptor, limit int64, what string) ([]byte, error) {
	if d.Size < 0 || d.Size > limit {
		return nil, fmt.Errorf("%s has %d bytes; %d are read at most", what, d.Size, limit)
	}
	body, err := i.repository.Blobs().Fetch(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer body.Close()
	return bounded(body, d, limit, what)
}

// bounded reads no more than the descriptor says, and holds it to its digest.
func bounded(body io.Reader, d ocispec.Descriptor, limit int64, what string) ([]byte, error) {
	if d.Size < 0 || d.Size > limit {
		return nil, fmt.Errorf("%s has %d bytes; %d are read at most", what, d.Size, limit)
	}
	if d.Digest.Validate() != nil || d.Digest.Algorithm() != digest.SHA256 {
		return nil, fmt.Errorf("%s has the digest %q, which is none of the kind sha256", what, d.Digest)
	}
	data, err := content.ReadAll(io.LimitReader(body, d.Size+1), d)
	if err != nil {
		return nil, fmt.Errorf("%s is not what its digest %s says: %w", what, d.Digest, err)
	}
	return data, nil
}

func isObject(data []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(data, &object) == nil && object != nil
}
