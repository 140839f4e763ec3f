package image

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	spec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry"

	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/hack/release/files"
	"github.com/sallyport-io/sallyport/hack/release/licences"
	"github.com/sallyport-io/sallyport/hack/release/product"
	"github.com/sallyport-io/sallyport/hack/release/provenance"
	"github.com/sallyport-io/sallyport/hack/release/sbom"
)

var released = facts.Facts{Version: "v1.2.3", Revision: strings.Repeat("ab", 20), Time: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}

// programs are small ones for two platforms.
func programs() []Program {
	var out []Program
	for _, arch := range []string{"amd64", "arm64"} {
		p := product.Platform{OS: "linux", Arch: arch}
		out = append(out, Program{
			Program: &product.Program{Platform: p, Data: []byte("program for " + arch), Build: &buildinfo.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "x"}}},
			Modules: []licences.Module{{Path: "example.com/m", Version: "v1.0.0", Licences: []string{"MIT"}, Texts: []files.File{{Path: "LICENSE", Mode: 0o644, Data: []byte("MIT")}}}},
			SBOM:    []byte(`{"for":"` + arch + `"}`),
		})
	}
	return out
}

// written makes the image of programs and writes it into a new folder.
func written(t *testing.T) (*Image, string, v1.Hash) {
	t.Helper()
	image, err := Make(released, []byte("Apache"), provenance.ByHand, programs()...)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "layout")
	digest, err := image.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	return image, dir, digest
}

// tree is all that is in a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := os.DirFS(dir)
	paths, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no blobs: %v", dir, err)
	}
	names := []string{"index.json", "oci-layout"}
	for _, p := range paths {
		names = append(names, "blobs/sha256/"+filepath.Base(p))
	}
	for _, name := range names {
		f, err := root.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		out[name] = string(data)
	}
	return out
}

func TestTwoBuildsAreEqual(t *testing.T) {
	_, one, digest := written(t)
	_, two, other := written(t)
	if digest != other {
		t.Errorf("the digests are %s and %s", digest, other)
	}
	first, second := tree(t, one), tree(t, two)
	if len(first) != len(second) {
		t.Errorf("%d files and %d", len(first), len(second))
	}
	for name, content := range first {
		if second[name] != content {
			t.Errorf("%s differs", name)
		}
	}
}

// TestLayout reads the layout as tools do, which check digests and sizes on the way.
func TestLayout(t *testing.T) {
	image, dir, digest := written(t)
	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	index, err := outer.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	store, err := oci.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := store.Resolve(t.Context(), released.Version)
	if err != nil || whole.Digest.String() != digest.String() {
		t.Fatalf("%s is %s, %v, want %s", released.Version, whole.Digest, err, digest)
	}
	holds := func(of spec.Descriptor, mediaType string, want []byte) {
		t.Helper()
		found, err := registry.Referrers(t.Context(), store, of, mediaType)
		if err != nil || len(found) != 1 {
			t.Fatalf("%s has the referrers %v of %s, %v", of.Digest, found, mediaType, err)
		}
		below, err := content.Successors(t.Context(), store, found[0])
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(below, func(d spec.Descriptor) bool { return d.MediaType == mediaType })
		if at < 0 {
			t.Fatalf("%s has no %s", found[0].Digest, mediaType)
		}
		if got, err := content.FetchAll(t.Context(), store, below[at]); err != nil || !bytes.Equal(got, want) {
			t.Errorf("it says %s, %v, want %s", got, err, want)
		}
	}
	holds(whole, provenance.MediaType, image.Provenance)
	parts, err := content.Successors(t.Context(), store, whole)
	if err != nil || len(parts) != 2 {
		t.Fatalf("the index has %v, %v", parts, err)
	}
	for i, p := range programs() {
		if parts[i].Platform.Architecture != p.Platform.Arch || parts[i].Platform.OS != p.Platform.OS {
			t.Errorf("part %d is for %v", i, parts[i].Platform)
		}
		holds(parts[i], sbom.MediaType, p.SBOM)
		if !strings.Contains(string(image.Provenance), parts[i].Digest.Encoded()) {
			t.Errorf("the provenance says nothing of %s", parts[i].Digest)
		}
	}
}

// amd64 is the first image of an index.
func amd64(t *testing.T, image *Image) v1.Image {
	t.Helper()
	m, err := image.Index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	first, err := image.Index.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return first
}

func TestConfig(t *testing.T) {
	image, _, _ := written(t)
	first := amd64(t, image)
	config, err := first.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/usr/bin/sallyport"}) || len(config.Config.Cmd) != 0 {
		t.Errorf("it runs %q %q as %q", config.Config.Entrypoint, config.Config.Cmd, config.Config.User)
	}
	if config.OS != "linux" || config.Architecture != "amd64" || !config.Created.Equal(released.Time) {
		t.Errorf("it is for %s/%s and of %s", config.OS, config.Architecture, config.Created)
	}
	m, err := first.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		spec.AnnotationSource: facts.Source, spec.AnnotationRevision: released.Revision, spec.AnnotationVersion: "v1.2.3",
		spec.AnnotationLicenses: "Apache-2.0 AND MIT", spec.AnnotationCreated: "2026-11-30T00:00:00Z",
	} {
		if m.Annotations[key] != want || config.Config.Labels[key] != want {
			t.Errorf("%s is %q and %q, want %q", key, m.Annotations[key], config.Config.Labels[key], want)
		}
	}
}

func TestFiles(t *testing.T) {
	image, _, _ := written(t)
	type file struct {
		header *tar.Header
		data   []byte
	}
	found := map[string]file{}
	content := mutate.Extract(amd64(t, image))
	defer content.Close()
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimSuffix(header.Name, "/")] = file{header, data}
	}
	for name, want := range map[string]string{
		"usr/bin/sallyport": "program for amd64", "usr/share/doc/sallyport/LICENSE": "Apache",
		"usr/share/doc/sallyport/licences/example.com/m@v1.0.0/LICENSE": "MIT",
	} {
		if string(found[name].data) != want {
			t.Errorf("%s has %q, want %q", name, found[name].data, want)
		}
	}
	if f := found["usr/bin/sallyport"].header; f == nil || f.Mode != 0o755 || f.Uid != 0 {
		t.Errorf("the program is %+v", f)
	}
	if f := found["home/nonroot"].header; f == nil || f.Uid != User || f.Gid != User {
		t.Errorf("the home is %+v", f)
	}
	if passwd := string(found["etc/passwd"].data); !strings.Contains(passwd, "nonroot:x:65532:65532:nonroot:/home/nonroot:") {
		t.Errorf("/etc/passwd has %q", passwd)
	}
	pool := x509.NewCertPool()
	certificates := found["etc/ssl/certs/ca-certificates.crt"].data
	if n := bytes.Count(certificates, []byte("-----BEGIN CERTIFICATE-----")); !pool.AppendCertsFromPEM(certificates) || n < 100 {
		t.Errorf("there are %d certificates", n)
	}
}

func TestWriteLeavesWhatIsNotALayout(t *testing.T) {
	image, dir, _ := written(t)
	if _, err := image.Write(dir); err != nil {
		t.Errorf("a second time: %v", err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Write(other); err == nil || !strings.Contains(err.Error(), "left as it is") {
		t.Errorf("into a folder with other files: %v", err)
	}
	if _, err := os.Stat(filepath.Join(other, "thesis.txt")); err != nil {
		t.Error(err)
	}
}
