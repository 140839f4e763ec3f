package image

import (
	"bytes"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/sallyport-io/sallyport/hack/release/files"
)

// layer is a layer that is held in memory, both ways.
type layer struct {
	plain, packed  []byte
	diffID, digest v1.Hash
}

// newLayer packs files as they were modified at a time.
func newLayer(content []files.File, modified time.Time) (*layer, error) {
	plain, err := files.Tar(content, modified)
	if err != nil {
		return nil, err
	}
	packed, err := files.Gzip(plain)
	if err != nil {
		return nil, err
	}
	l := &layer{plain: plain, packed: packed}
	if l.diffID, _, err = v1.SHA256(bytes.NewReader(plain)); err != nil {
		return nil, err
	}
	l.digest, _, err = v1.SHA256(bytes.NewReader(packed))
	return l, err
}

func (l *layer) Digest() (v1.Hash, error)            { return l.digest, nil }
func (l *layer) DiffID() (v1.Hash, error)            { return l.diffID, nil }
func (l *layer) Size() (int64, error)                { return int64(len(l.packed)), nil }
func (l *layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }
func (l *layer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.packed)), nil
}
func (l *layer) Uncompressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.plain)), nil
}
