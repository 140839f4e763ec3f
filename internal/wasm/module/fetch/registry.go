package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// maxManifest bounds a manifest.
const maxManifest = 4 << 20

// wasmTypes are the media types of a layer that is a module.
var wasmTypes = map[string]bool{
	"application/vnd.wasm.content.layer.v1+wasm":        true,
	"application/vnd.module.wasm.content.layer.v1+wasm": true,
	"application/wasm": true,
}

// registry gets the one module of an artifact. What has a digest in its address
// and was fetched before needs no registry.
func (f *Fetcher) registry(ctx context.Context, address string) (*Module, error) {
	reference, err := registry.ParseReference(address)
	if err != nil {
		return nil, fmt.Errorf("%q is not an address in a registry, such as registry://host/name:tag: %w", address, err)
	}
	if reference.Reference == "" {
		return nil, errors.New("neither a tag nor a digest is in the address; give one, such as name:v1, or sha256 and the digest after an @")
	}
	if wrong := CheckHost(reference.Host(), isForeign(ctx)); wrong != "" {
		return nil, fmt.Errorf("the address %s", wrong)
	}
	if isForeign(ctx) {
		f = f.forForeign()
	}
	client, err := f.clientFor(ctx)
	if err != nil {
		return nil, err
	}
	repository := &remote.Repository{
		Reference: reference, PlainHTTP: Loopback(reference.Host()),
		Client: &auth.Client{Client: client, Credential: f.Credential},
	}
	pinned, err := reference.Digest()
	isPinned := err == nil
	if isPinned && pinned.Algorithm() != digest.SHA256 {
		return nil, fmt.Errorf("the digest is of the kind %s; sha256 is read", pinned.Algorithm())
	}
	var manifest []byte
	if isPinned {
		manifest = f.cached(pinned.String(), maxManifest)
	}
	if manifest == nil {
		descriptor, err := repository.Resolve(ctx, reference.Reference)
		if err != nil {
			return nil, err
		}
		if isPinned && descriptor.Digest != pinned {
			return nil, fmt.Errorf("the registry answered with %s", descriptor.Digest)
		}
		if manifest, err = f.blob(ctx, repository, descriptor, maxManifest, "the manifest"); err != nil {
			return nil, err
		}
	}
	layer, err := layerOf(manifest)
	if err != nil {
		return nil, err
	}
	wasm, err := f.blob(ctx, repository, layer, f.MaxBytes, "the module")
	if err != nil {
		return nil, err
	}
	if err := checkWasm(wasm); err != nil {
		return nil, err
	}
	return &Module{Wasm: wasm, Digest: layer.Digest.String(), Artifact: DigestOf(manifest)}, nil
}

// blob reads what a descriptor describes, no more of it, and holds it to its
// digest.
func (f *Fetcher) blob(ctx context.Context, repository *remote.Repository, d ocispec.Descriptor, limit int64, what string) ([]byte, error) {
	if d.Digest.Validate() != nil || d.Digest.Algorithm() != digest.SHA256 {
		return nil, fmt.Errorf("%s has the digest %q, which is none of the kind sha256", what, d.Digest)
	}
	if d.Size < 0 || d.Size > limit {
		return nil, fmt.Errorf("%s has %d bytes; %d are read at most", what, d.Size, limit)
	}
	if data := f.cached(d.Digest.String(), limit); data != nil {
		return data, nil
	}
	body, err := repository.Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := content.ReadAll(io.LimitReader(body, d.Size+1), d)
	if err != nil {
		return nil, fmt.Errorf("%s is not what its digest %s says: %w", what, d.Digest, err)
	}
	return data, f.keep(d.Digest.String(), data)
}

// layerOf finds the one layer of a manifest that is a module.
func layerOf(manifest []byte) (ocispec.Descriptor, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	var found []ocispec.Descriptor
	var types []string
	for _, layer := range m.Layers {
		types = append(types, layer.MediaType)
		if wasmTypes[layer.MediaType] {
			found = append(found, layer)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return ocispec.Descriptor{}, fmt.Errorf("the artifact holds %d modules, and which one is meant is not known", len(found))
	case len(types) == 0:
		return ocispec.Descriptor{}, errors.New("the artifact has no layers; it may be an index of several")
	}
	return ocispec.Descriptor{}, fmt.Errorf("no layer of the artifact is WebAssembly; they are %s", strings.Join(types, ", "))
}
