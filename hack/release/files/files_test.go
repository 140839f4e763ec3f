package files

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"slices"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 30, 1, 2, 3, 4, time.FixedZone("", 3600))

var some = []File{
	{Path: "b/c/x", Mode: 0o755, Data: []byte("x")},
	{Path: "a", Mode: 0o644, Data: []byte("a")},
	{Path: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777, Owner: 7},
}

// TestOrderDoesNotCount packs the same files in another order and time zone.
func TestOrderDoesNotCount(t *testing.T) {
	other := slices.Clone(some)
	slices.Reverse(other)
	for name, pack := range map[string]func([]File, time.Time) ([]byte, error){"tar": Tar, "zip": Zip} {
		one, err := pack(some, at)
		two, alsoErr := pack(other, at.UTC().Truncate(time.Second))
		if err != nil || alsoErr != nil || !bytes.Equal(one, two) {
			t.Errorf("%s: the archives differ: %v %v", name, err, alsoErr)
		}
	}
}

func TestTar(t *testing.T) {
	packed, err := Tar(some, at)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(packed)); ; {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if header.ModTime.Unix() != at.Unix() {
			t.Errorf("%s is of %s", header.Name, header.ModTime)
		}
		if header.Name == "tmp/" && (header.Mode != 0o1777 || header.Uid != 7 || header.Gid != 7) {
			t.Errorf("tmp has mode %o and owner %d", header.Mode, header.Uid)
		}
	}
	if want := []string{"a", "b/", "b/c/", "b/c/x", "tmp/"}; !slices.Equal(names, want) {
		t.Errorf("it has %q, want %q", names, want)
	}
}

func TestZip(t *testing.T) {
	packed, err := Zip(some, at)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Open("b/c/x")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "x" {
		t.Errorf("b/c/x has %q, %v", data, err)
	}
}

func TestPathsThatAreRefused(t *testing.T) {
	for _, bad := range [][]File{{{Path: "/a"}}, {{Path: "../a"}}, {{Path: ""}}, {{Path: "a"}, {Path: "a"}}} {
		if _, err := Tar(bad, at); err == nil {
			t.Errorf("Tar takes %q", bad[0].Path)
		}
		if _, err := Zip(bad, at); err == nil {
			t.Errorf("Zip takes %q", bad[0].Path)
		}
	}
}
