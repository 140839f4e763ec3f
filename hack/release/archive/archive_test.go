package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/hack/release/facts"
	"github.com/sallyport-io/sallyport/hack/release/files"
	"github.com/sallyport-io/sallyport/hack/release/licences"
	"github.com/sallyport-io/sallyport/hack/release/product"
)

var released = facts.Facts{Version: "v1.2.3", Revision: "abc", Time: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}

// names of what is in an archive, folders left out.
func names(t *testing.T, packed []byte, zipped bool) []string {
	t.Helper()
	var out []string
	if zipped {
		r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			if !f.Mode().IsDir() {
				out = append(out, f.Name)
			}
		}
		return out
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unpacked); ; {
		header, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			out = append(out, header.Name)
		}
	}
}

func TestPack(t *testing.T) {
	modules := []licences.Module{{Path: "example.com/m", Version: "v1.0.0", Licences: []string{"MIT"}, Texts: []files.File{{Path: "LICENSE", Mode: 0o644}}}}
	completion := []files.File{{Path: "completion/sallyport.bash", Mode: 0o644}, Plugin}
	for system, want := range map[string][]string{
		"linux":   {"LICENSE", "completion/kubectl_complete-sallyport", "completion/sallyport.bash", "licences/example.com/m@v1.0.0/LICENSE", "licences/index.txt", "sallyport"},
		"windows": {"LICENSE", "completion/sallyport.bash", "licences/example.com/m@v1.0.0/LICENSE", "licences/index.txt", "sallyport.exe"},
	} {
		p := &product.Program{Platform: product.Platform{OS: system, Arch: "amd64"}, Data: []byte("program")}
		one, err := Pack(released, p, []byte("Apache"), completion, modules)
		two, alsoErr := Pack(released, p, []byte("Apache"), completion, modules)
		if err != nil || alsoErr != nil || !bytes.Equal(one, two) {
			t.Fatalf("%s: two archives differ: %v %v", system, err, alsoErr)
		}
		if got := names(t, one, system == "windows"); !slices.Equal(got, want) {
			t.Errorf("%s: it has %q, want %q", system, got, want)
		}
	}
}

func TestSums(t *testing.T) {
	a, b := strings.Repeat("f", 64), strings.Repeat("0", 64)
	if got, want := string(Sums(map[string]string{"b": b, "a": a})), a+"  a\n"+b+"  b\n"; got != want {
		t.Errorf("they are %q, want %q", got, want)
	}
}

// TestKrew holds the manifest to what krew asks of one: platforms told apart by labels,
// archives that are there, and a licence among the files.
func TestKrew(t *testing.T) {
	linux, windows := product.Platform{OS: "linux", Arch: "arm64"}, product.Platform{OS: "windows", Arch: "amd64"}
	sums := map[string]string{Name(released, linux): "aa", Name(released, windows): "bb"}
	made, err := Krew(released, "https://example.com/dl", []product.Platform{linux, windows}, sums)
	if err != nil {
		t.Fatal(err)
	}
	var m plugin
	if err := yaml.UnmarshalStrict(made, &m); err != nil {
		t.Fatal(err)
	}
	if m.Metadata["name"] != "sallyport" || m.Spec.Version != "v1.2.3" || len(m.Spec.ShortDescription) > 50 || len(m.Spec.Platforms) != 2 {
		t.Errorf("it is %+v", m)
	}
	for i, want := range []struct{ uri, sum, bin, system string }{
		{"https://example.com/dl/v1.2.3/sallyport_v1.2.3_linux_arm64.tar.gz", "aa", "sallyport", "linux"},
		{"https://example.com/dl/v1.2.3/sallyport_v1.2.3_windows_amd64.zip", "bb", "sallyport.exe", "windows"},
	} {
		p := m.Spec.Platforms[i]
		if p.URI != want.uri || p.SHA256 != want.sum || p.Bin != want.bin || p.Selector.MatchLabels["os"] != want.system {
			t.Errorf("platform %d is %+v, want %+v", i, p, want)
		}
		if !slices.Contains(p.Files, pluginFile{"LICENSE", "."}) || !slices.Contains(p.Files, pluginFile{want.bin, "."}) {
			t.Errorf("platform %d has the files %v", i, p.Files)
		}
	}
	if _, err := Krew(released, "https://example.com/dl", []product.Platform{linux}, nil); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("an archive that is not there: %v", err)
	}
}
