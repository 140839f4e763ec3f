// Package image makes the container image of a release without a container engine and
// without a base image: an OCI layout with an index of platforms, and beside each what is
// in it and how it was made.
package image

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/image-spec/specs-go"
	spec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/hack/release/files"
	"github.com/sallyport-io/sallyport/hack/release/licences"
	"github.com/sallyport-io/sallyport/hack/release/product"
	"github.com/sallyport-io/sallyport/hack/release/provenance"
	"github.com/sallyport-io/sallyport/hack/release/sbom"
)

// Program is a program with what belongs to it.
type Program struct {
	*product.Program
	// Modules are all whose licence texts go into the image.
	Modules []licences.Module
	// SBOM describes the program and what is beside it.
	SBOM []byte
}

// Image is an index of platforms, and what refers to it and to its parts.
type Image struct {
	Facts     facts.Facts
	Index     v1.ImageIndex
	Referrers []Referrer
	// Provenance is the statement about the index and its parts.
	Provenance []byte
}

// Referrer is a manifest that says something of another one, its subject.
type Referrer struct {
	Manifest, Blob []byte
	Descriptor     v1.Descriptor
}

// Make puts programs into images, with the licence of Sallyport itself beside those of
// what they are built from.
func Make(f facts.Facts, licence []byte, builder string, programs ...Program) (*Image, error) {
	// Each starts with the layer that no program differs in.
	content, err := base()
	if err != nil {
		return nil, err
	}
	common, err := newLayer(content, f.Time)
	if err != nil {
		return nil, err
	}
	out := &Image{Facts: f}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var all []string
	var subjects []provenance.Subject
	var plain []*product.Program
	for _, p := range programs {
		var ids []string
		for _, m := range p.Modules {
			ids = append(ids, m.Licences...)
		}
		all = append(all, ids...)
		image, err := one(f, common, licence, ids, p)
		if err != nil {
			return nil, fmt.Errorf("the image for %s: %w", p.Platform, err)
		}
		descriptor, err := describe(image, p.Platform)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: *descriptor})
		referrer, err := newReferrer(f, *descriptor, sbom.MediaType, p.SBOM)
		if err != nil {
			return nil, err
		}
		out.Referrers = append(out.Referrers, referrer)
		subjects = append(subjects, provenance.Subject{Name: "sallyport@" + p.Platform.String(), Digest: digestSet(*descriptor)})
		plain = append(plain, p.Program)
	}
	out.Index = mutate.Annotations(index, annotations(f, all)).(v1.ImageIndex)
	whole, err := describe(out.Index, product.Platform{})
	if err != nil {
		return nil, err
	}
	subjects = append([]provenance.Subject{{Name: "sallyport", Digest: digestSet(*whole)}}, subjects...)
	if out.Provenance, err = provenance.Make(f, "image", builder, plain, subjects...); err != nil {
		return nil, err
	}
	referrer, err := newReferrer(f, *whole, provenance.MediaType, out.Provenance)
	out.Referrers = append(out.Referrers, referrer)
	return out, err
}

func one(f facts.Facts, common *layer, licence []byte, ids []string, p Program) (v1.Image, error) {
	texts := append(licences.Files(textsDir+"/licences", p.Modules), files.File{Path: textsDir + "/LICENSE", Mode: 0o644, Data: licence})
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	add := func(l *layer, what string) error {
		var err error
		image, err = mutate.Append(image, mutate.Addendum{Layer: l, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: f.Time}, CreatedBy: "make image", Comment: what}})
		return err
	}
	if err := add(common, "user, certificates of authorities"); err != nil {
		return nil, err
	}
	for _, next := range []struct {
		what    string
		content []files.File
	}{
		{"licence texts", texts},
		{"the program", []files.File{{Path: binaryDir + "/sallyport", Mode: 0o755, Data: p.Data}}},
	} {
		l, err := newLayer(next.content, f.Time)
		if err == nil {
			err = add(l, next.what)
		}
		if err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.Platform.OS, p.Platform.Arch, v1.Time{Time: f.Time}
	config.Config = v1.Config{
		User: fmt.Sprintf("%[1]d:%[1]d", User), Entrypoint: []string{"/" + binaryDir + "/sallyport"}, WorkingDir: "/" + home,
		Env: []string{"PATH=/" + binaryDir, "SSL_CERT_FILE=/" + rootsFile}, Labels: annotations(f, ids),
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, annotations(f, ids)).(v1.Image), nil
}

func annotations(f facts.Facts, ids []string) map[string]string {
	return map[string]string{
		spec.AnnotationTitle:         "Sallyport",
		spec.AnnotationDescription:   "Guards both doors of every Kubernetes pod: admission and access",
		spec.AnnotationURL:           facts.Source,
		spec.AnnotationDocumentation: facts.Source + "/tree/" + f.Version + "/docs",
		spec.AnnotationSource:        facts.Source,
		spec.AnnotationVersion:       f.Version,
		spec.AnnotationRevision:      f.Revision,
		spec.AnnotationCreated:       f.Time.Format(time.RFC3339),
		spec.AnnotationLicenses:      licences.Expression(append(slices.Clone(ids), "Apache-2.0")...),
	}
}

// manifest is an image or an index.
type manifest interface {
	Digest() (v1.Hash, error)
	Size() (int64, error)
	MediaType() (types.MediaType, error)
}

// describe gives the descriptor of a manifest, for a platform if that is not empty.
func describe(m manifest, p product.Platform) (*v1.Descriptor, error) {
	digest, err := m.Digest()
	if err != nil {
		return nil, err
	}
	size, err := m.Size()
	if err != nil {
		return nil, err
	}
	mediaType, err := m.MediaType()
	if err != nil {
		return nil, err
	}
	d := &v1.Descriptor{MediaType: mediaType, Size: size, Digest: digest}
	if p != (product.Platform{}) {
		d.Platform = &v1.Platform{OS: p.OS, Architecture: p.Arch}
	}
	return d, nil
}

func digestSet(d v1.Descriptor) map[string]string {
	return map[string]string{d.Digest.Algorithm: d.Digest.Hex}
}

// newReferrer makes the manifest by which a registry finds content that is about a
// subject.
func newReferrer(f facts.Facts, subject v1.Descriptor, mediaType string, content []byte) (Referrer, error) {
	blob := spec.Descriptor{MediaType: mediaType, Digest: digestOf(content), Size: int64(len(content))}
	created := map[string]string{spec.AnnotationCreated: f.Time.Format(time.RFC3339)}
	m := spec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: spec.MediaTypeImageManifest, ArtifactType: mediaType,
		Config: spec.DescriptorEmptyJSON, Layers: []spec.Descriptor{blob}, Annotations: created,
		Subject: &spec.Descriptor{MediaType: string(subject.MediaType), Digest: asDigest(subject.Digest), Size: subject.Size},
	}
	encoded, err := json.Marshal(m)
	if err != nil {
		return Referrer{}, err
	}
	hash, err := v1.NewHash(digestOf(encoded).String())
	if err != nil {
		return Referrer{}, err
	}
	return Referrer{Manifest: encoded, Blob: content, Descriptor: v1.Descriptor{
		MediaType: types.OCIManifestSchema1, Digest: hash, Size: int64(len(encoded)), ArtifactType: mediaType, Annotations: created,
	}}, nil
}
