package option

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/images"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// Modules are the flags that say how the modules of policies are fetched and kept.
type Modules struct {
	cache          string
	registryConfig string
	images         Images
}

// Add adds the flags.
func (f *Modules) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.cache, "module-cache", "", "directory in which the modules of policies, and what they are compiled to, are kept; must be writable only by its owner (a directory of the user's cache)")
	cmd.Flags().StringVar(&f.registryConfig, "registry-config", "", "file with the credentials for registries of modules, as docker login writes it")
	f.images.Add(cmd)
}

// Registries makes what answers policies about images.
func (f *Modules) Registries() (*images.Registries, error) {
	credential, err := RegistryCredential(registryConfigFlag, f.registryConfig)
	if err != nil {
		return nil, err
	}
	return f.images.Registries(credential)
}

const registryConfigFlag = "registry-config"

// dir is where modules are kept: what was asked for, or a directory of the user's
// cache; empty if there is no such place.
func (f *Modules) dir() (string, error) {
	dir := f.cache
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", nil
		}
		dir = filepath.Join(cache, "sallyport", "modules")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		if f.cache == "" {
			return "", nil
		}
		return "", fmt.Errorf("the directory of modules cannot be made: %w", err)
	}
	return dir, nil
}

// ModuleHost is what runs the modules of policies, with what it needs.
type ModuleHost struct {
	*runner.Host
	engine *wasm.Engine
	// changed is told of each change, once there is somebody to tell.
	changed atomic.Pointer[func()]
}

// Host makes what runs modules. config leads to the cluster whose ConfigMaps may
// hold modules; nil for none.
func (f *Modules) Host(ctx context.Context, config *rest.Config, o runner.Options) (*ModuleHost, error) {
	dir, err := f.dir()
	if err != nil {
		return nil, err
	}
	fetching := fetch.Options{Private: slices.Concat(f.images.private, f.images.plain)}
	limits := wasm.DefaultLimits()
	// Each policy has a shorter time of its own.
	limits.Deadline = 30 * time.Second
	settings := wasm.Config{Limits: limits}
	if dir != "" {
		fetching.Cache, settings.CacheDir = filepath.Join(dir, "got"), filepath.Join(dir, "compiled")
	}
	if fetching.Credential, err = RegistryCredential(registryConfigFlag, f.registryConfig); err != nil {
		return nil, err
	}
	if config != nil {
		client, err := kubernetes.NewForConfig(pace.Few.Of(config))
		if err != nil {
			return nil, fmt.Errorf("no client for the API server could be made: %w", err)
		}
		fetching.ConfigMaps = &configMaps{client}
	}
	engine, err := wasm.NewEngine(ctx, settings)
	if err != nil {
		return nil, err
	}
	h := &ModuleHost{engine: engine}
	o.Changed = func() {
		if tell := h.changed.Load(); tell != nil {
			(*tell)()
		}
	}
	o.Engine, o.Fetcher, o.Clock = engine, fetch.New(fetching), clock.RealClock{}
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	h.Host = runner.NewHost(o)
	return h, nil
}

// OnChange has f told of each change of a policy's state.
func (h *ModuleHost) OnChange(f func()) { h.changed.Store(&f) }

// Close lets go of every module.
func (h *ModuleHost) Close() {
	h.Host.Close()
	_ = h.engine.Close(context.Background())
}

// configMaps reads modules that are in a ConfigMap.
type configMaps struct{ client kubernetes.Interface }

// BinaryData reads one key.
func (c *configMaps) BinaryData(ctx context.Context, namespace, name, key string) ([]byte, error) {
	found, err := c.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	data, ok := found.BinaryData[key]
	if !ok {
		return nil, fmt.Errorf("the ConfigMap %s/%s has no key %q in its binaryData", namespace, name, key)
	}
	return data, nil
}
