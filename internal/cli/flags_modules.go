package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/guest"
	"github.com/sallyport-io/sallyport/internal/wasm/images"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// moduleFlags say how the modules of policies are fetched and kept.
type moduleFlags struct {
	cache          string
	registryConfig string
	images         imageFlags
}

func (f *moduleFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.cache, "module-cache", "", "directory in which the modules of policies, and what they are compiled to, are kept; must be writable only by its owner (a directory of the user's cache)")
	cmd.Flags().StringVar(&f.registryConfig, "registry-config", "", "file with the credentials for registries of modules, as docker login writes it")
	f.images.add(cmd)
}

// registries makes what answers policies about images.
func (f *moduleFlags) registries() (*images.Registries, error) {
	credential, err := registryCredential(registryConfigFlag, f.registryConfig)
	if err != nil {
		return nil, err
	}
	return f.images.registries(credential)
}

const registryConfigFlag = "registry-config"

// dir is where modules are kept: what was asked for, or a directory of the user's
// cache; empty if there is no such place.
func (f *moduleFlags) dir() (string, error) {
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

// moduleHost is what runs the modules of policies, with what it needs.
type moduleHost struct {
	*guest.Host
	engine *wasm.Engine
	// settled is set once the modules of the first policies were loaded, or failed to
	// be.
	settled atomic.Bool
	// read says whether the first policies are there; nil for always.
	read  func() bool
	store *policy.Store
	// server is the PolicyServer that this is; empty for Sallyport itself.
	server string
	// wanting has the policies of the set in force wanted last.
	wanting sync.Mutex
	// changed is told of each change, once there is somebody to tell.
	changed atomic.Pointer[func()]
}

// host makes what runs modules. config leads to the cluster whose ConfigMaps may
// hold modules; nil for none.
func (f *moduleFlags) host(ctx context.Context, config *rest.Config, o guest.Options) (*moduleHost, error) {
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
	if fetching.Credential, err = registryCredential(registryConfigFlag, f.registryConfig); err != nil {
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
	h := &moduleHost{engine: engine}
	o.Changed = func() {
		if tell := h.changed.Load(); tell != nil {
			(*tell)()
		}
	}
	o.Engine, o.Fetcher, o.Clock = engine, fetch.New(fetching), clock.RealClock{}
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	h.Host = guest.NewHost(o)
	return h, nil
}

// tell has f told of each change of a policy's state.
func (h *moduleHost) tell(f func()) { h.changed.Store(&f) }

// want has the modules loaded of the policies that are run here as things stand.
func (h *moduleHost) want() {
	h.wanting.Lock()
	defer h.wanting.Unlock()
	h.Want(h.store.Set().ModulePolicies())
}

// took reports whether a policy that names this server, or none, is judged by here:
// its module was loaded, or failed to be, so that its failure policy answers.
func (h *moduleHost) took(ref stored.Ref, server string) bool {
	p := h.store.Set().ModulePolicy(ref)
	if p == nil || p.Server != server || !h.Hosts(p) {
		return false
	}
	var waiting *guest.NotReady
	_, err := h.Status(p)
	return !errors.As(err, &waiting) || !waiting.Loading
}

// Close lets go of every module.
func (h *moduleHost) Close() {
	h.Host.Close()
	_ = h.engine.Close(context.Background())
}

// Run waits for the end. It makes the host a policySource.
func (h *moduleHost) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Ready says whether the modules of the policies that were there first have been
// loaded, or failed to be. Later ones do not make the server unready.
func (h *moduleHost) Ready() error {
	if h.settled.Load() || !h.there() {
		return nil
	}
	if p := h.loading(func(*guest.Policy) bool { return true }); p != nil {
		return fmt.Errorf("the module of %s is being loaded", p)
	}
	h.settled.Store(true)
	return nil
}

// there reports whether the first policies are.
func (h *moduleHost) there() bool { return h.read == nil || h.read() }

// loading is one of some policies whose module is being loaded, and has not failed to
// be; nil if there is none.
func (h *moduleHost) loading(some func(*guest.Policy) bool) *guest.Policy {
	for _, p := range h.store.Set().ModulePolicies() {
		var waiting *guest.NotReady
		if _, err := h.Status(p); h.Hosts(p) && some(p) && errors.As(err, &waiting) && waiting.Loading {
			return p
		}
	}
	return nil
}

// known says whether the modules of the first policies of the whole cluster have been
// loaded, or failed to be. Those of namespaces do not count: whoever may write one
// could have it got from a server that answers slowly, and nothing would be judged
// meanwhile.
func (h *moduleHost) known() func() error {
	var settled atomic.Bool
	return func() error {
		switch {
		case settled.Load():
			return nil
		case !h.there():
			return errors.New("the policies are not there yet")
		}
		if p := h.loading(func(p *guest.Policy) bool { return p.Namespace == "" }); p != nil {
			return fmt.Errorf("the module of %s is being loaded", p)
		}
		settled.Store(true)
		return nil
	}
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
