package image

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	spec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// Target is where an image is pushed to.
type Target struct {
	// Name is HOST/PATH, or HOST/PATH:TAG; without a tag the version is taken.
	Name string
	// PlainHTTP is for registries without TLS.
	PlainHTTP bool
	// Credential is asked for what to log in with.
	Credential auth.CredentialFunc
}

// Push copies the layout in a folder to a registry, referrers too, and returns the name
// of what is there now by its digest. The tag comes last, so that it never names an image
// whose parts are not there.
func Push(ctx context.Context, dir string, t Target) (string, error) {
	layout, err := oci.NewFromFS(ctx, os.DirFS(dir))
	if err != nil {
		return "", fmt.Errorf("%s: %w; make image writes it", dir, err)
	}
	index, referrers, err := indexOf(dir)
	if err != nil {
		return "", err
	}
	repository, err := remote.NewRepository(t.Name)
	if err != nil {
		return "", fmt.Errorf("%q is not the name of an image: %w", t.Name, err)
	}
	repository.PlainHTTP = t.PlainHTTP
	repository.Client = &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: t.Credential}
	tag := repository.Reference.Reference
	if tag == "" {
		tag = index.Annotations[spec.AnnotationRefName]
	}
	if _, err := digest.Parse(tag); err == nil || tag == "" {
		return "", fmt.Errorf("%q: a tag is wanted, not the digest %q", t.Name, tag)
	}
	for _, d := range append([]spec.Descriptor{index}, referrers...) {
		if err := oras.CopyGraph(ctx, layout, repository, d, oras.DefaultCopyGraphOptions); err != nil {
			return "", fmt.Errorf("%s does not get to %s: %w", d.Digest, t.Name, err)
		}
	}
	if err := repository.Tag(ctx, index, tag); err != nil {
		return "", fmt.Errorf("%s: the tag %s: %w", t.Name, tag, err)
	}
	name := repository.Reference
	name.Reference = index.Digest.String()
	return name.String(), nil
}

// indexOf finds the image in a layout, and what stands beside it.
func indexOf(dir string) (index spec.Descriptor, referrers []spec.Descriptor, err error) {
	file := filepath.Join(dir, spec.ImageIndexFile)
	content, err := os.ReadFile(file)
	if err != nil {
		return index, nil, err
	}
	var all spec.Index
	if err := json.Unmarshal(content, &all); err != nil {
		return index, nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, d := range all.Manifests {
		switch {
		case d.ArtifactType != "":
			referrers = append(referrers, d)
		case index.Digest != "":
			return index, nil, fmt.Errorf("%s has more than one image: %s and %s", file, index.Digest, d.Digest)
		default:
			index = d
		}
	}
	if index.Digest == "" {
		return index, nil, fmt.Errorf("%s has no image", file)
	}
	return index, referrers, nil
}

// FromEnvironment logs in with REGISTRY_USERNAME and REGISTRY_PASSWORD, if they are set,
// at the one registry that is pushed to.
func FromEnvironment(name string, env func(string) string) auth.CredentialFunc {
	user, password := env("REGISTRY_USERNAME"), env("REGISTRY_PASSWORD")
	if user == "" && password == "" {
		return nil
	}
	host, _, _ := strings.Cut(name, "/")
	return auth.StaticCredential(host, auth.Credential{Username: user, Password: password})
}
