package fetch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// cached gives what is kept under a digest; nil if that is nothing, or something
// that the digest is not of, which is dropped.
func (f *Fetcher) cached(digest string, limit int64) []byte {
	if f.Cache == "" {
		return nil
	}
	file, err := os.Open(f.path(digest))
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil || int64(len(data)) > limit {
		return nil
	}
	if DigestOf(data) != digest {
		_ = os.Remove(f.path(digest))
		return nil
	}
	return data
}

// keep keeps data under its digest. It is whole there, or not there.
func (f *Fetcher) keep(digest string, data []byte) error {
	if f.Cache == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(f.path(digest)), 0o700)
	if err == nil {
		err = f.write(digest, data)
	}
	if err != nil {
		return fmt.Errorf("it cannot be kept in the cache: %w", err)
	}
	return nil
}

func (f *Fetcher) write(digest string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(f.path(digest)), ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), f.path(digest))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

func (f *Fetcher) path(digest string) string {
	return filepath.Join(f.Cache, "sha256", filepath.Base(strings.TrimPrefix(digest, "sha256:")))
}
