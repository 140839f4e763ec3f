package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// withConfig answers with the manifest, its digest, and the configuration. Of an
// index, it is the image for Linux on the processor that this runs on.
func (i *image) withConfig(ctx context.Context) ([]byte, error) {
	d, raw := i.descriptor, i.manifest
	platform, err := platformOf(raw)
	if err != nil {
		return nil, err
	}
	if platform != nil {
		if d, raw, err = i.fetchManifest(ctx, platform.Digest.String()); err != nil {
			return nil, err
		}
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return nil, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	if manifest.Config.Digest == "" {
		return nil, errors.New("the manifest names no configuration")
	}
	config, err := i.blob(ctx, manifest.Config, maxConfig, "the configuration")
	if err != nil {
		return nil, err
	}
	if !isObject(config) {
		return nil, errors.New("the configuration is not a JSON object")
	}
	return json.Marshal(struct {
		Manifest json.RawMessage `json:"manifest"`
		Digest   string          `json:"digest"`
		Config   json.RawMessage `json:"config"`
	}{raw, d.Digest.String(), config})
}

// platformOf picks the image of an index; nil if it is none.
func platformOf(manifest []byte) (*ocispec.Descriptor, error) {
	var index struct {
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(manifest, &index); err != nil {
		return nil, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	if len(index.Manifests) == 0 {
		return nil, nil
	}
	for _, m := range index.Manifests {
		if m.Platform != nil && m.Platform.OS == "linux" && m.Platform.Architecture == runtime.GOARCH {
			return &m, nil
		}
	}
	return nil, fmt.Errorf("the index holds no image for linux/%s", runtime.GOARCH)
}
