// Package files packs files into tar and zip archives whose bytes depend on nothing but
// the files: sorted, owned by root, and all of the same time.
package files

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"
)

// File is a file or a folder in an archive.
type File struct {
	// Path is relative and has slashes.
	Path string
	// Mode has the permissions, and fs.ModeDir and fs.ModeSticky where they are so.
	Mode fs.FileMode
	Data []byte
	// Owner is the number of the user and the group that it belongs to.
	Owner int
}

// sorted gives files in the order of their paths, with the folders that they stand in.
// A path that stands there twice or leads out of the archive is an error.
func sorted(all []File) ([]File, error) {
	seen := map[string]bool{}
	var out []File
	for _, f := range all {
		if !fs.ValidPath(f.Path) || f.Path == "." {
			return nil, fmt.Errorf("%q is not a path in an archive", f.Path)
		}
		if seen[f.Path] {
			return nil, fmt.Errorf("%s is in the archive twice", f.Path)
		}
		seen[f.Path] = true
		out = append(out, f)
	}
	for _, f := range all {
		for dir := path.Dir(f.Path); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			out = append(out, File{Path: dir, Mode: fs.ModeDir | 0o755})
		}
	}
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// Tar packs files as they were modified at a time.
func Tar(all []File, modified time.Time) ([]byte, error) {
	all, err := sorted(all)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range all {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.Path, Size: int64(len(f.Data)), Mode: int64(f.Mode.Perm()),
			Uid: f.Owner, Gid: f.Owner, ModTime: modified.UTC().Truncate(time.Second),
		}
		if f.Mode.IsDir() {
			header.Typeflag, header.Name = tar.TypeDir, f.Path+"/"
		}
		if f.Mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Gzip compresses data, with neither a name nor a time in the header.
func Gzip(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Zip packs files as they were modified at a time.
func Zip(all []File, modified time.Time) ([]byte, error) {
	all, err := sorted(all)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range all {
		header := &zip.FileHeader{Name: f.Path, Method: zip.Deflate, Modified: modified.UTC().Truncate(time.Second)}
		header.SetMode(f.Mode)
		if f.Mode.IsDir() {
			header.Name, header.Method = f.Path+"/", zip.Store
		}
		content, err := w.CreateHeader(header)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		if f.Mode.IsDir() {
			continue
		}
		if _, err := content.Write(f.Data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
