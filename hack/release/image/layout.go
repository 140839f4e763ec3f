package image

import (
	"bytes"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/opencontainers/go-digest"
	spec "github.com/opencontainers/image-spec/specs-go/v1"
)

func digestOf(content []byte) digest.Digest { return digest.FromBytes(content) }

func asDigest(h v1.Hash) digest.Digest {
	return digest.NewDigestFromEncoded(digest.Algorithm(h.Algorithm), h.Hex)
}

// Write writes the image as an OCI layout into a folder, whose former content is taken
// away, and returns the digest of its index. The index has the version as its name, and
// referrers stand beside it, as the specification of layouts has it.
func (i *Image) Write(dir string) (v1.Hash, error) {
	if err := clear(dir); err != nil {
		return v1.Hash{}, err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := path.AppendIndex(i.Index, layout.WithAnnotations(map[string]string{spec.AnnotationRefName: i.Facts.Version})); err != nil {
		return v1.Hash{}, err
	}
	for _, r := range i.Referrers {
		for _, blob := range [][]byte{spec.DescriptorEmptyJSON.Data, r.Blob, r.Manifest} {
			hash, size, err := v1.SHA256(bytes.NewReader(blob))
			if err == nil {
				err = path.WriteBlob(hash, io.NopCloser(bytes.NewReader(blob)))
			}
			if err != nil {
				return v1.Hash{}, fmt.Errorf("blob of %d bytes: %w", size, err)
			}
		}
		if err := path.AppendDescriptor(r.Descriptor); err != nil {
			return v1.Hash{}, err
		}
	}
	return i.Index.Digest()
}

// clear takes away a layout that stands in a folder. Any other content is left, and is an
// error.
func clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir + "/" + spec.ImageLayoutFile); err != nil {
		return fmt.Errorf("%s is not empty, and not an OCI layout; it is left as it is", dir)
	}
	return os.RemoveAll(dir)
}
