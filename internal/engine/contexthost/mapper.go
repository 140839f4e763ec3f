package contexthost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// discoveryTimeout bounds one request for what the API server serves.
const discoveryTimeout = 5 * time.Second

// mapper finds resources of an API server, and remembers them. What is served is
// asked for once, and again when refresh is called.
type mapper struct {
	discovered *restmapper.DeferredDiscoveryRESTMapper

	mu    sync.RWMutex
	known map[asked]contextgate.Resource
}

type asked struct{ apiVersion, kind string }

// maxKnown bounds what is remembered: each entry is a way to call a resource that
// is served, of which there are few.
const maxKnown = 4096

func newMapper(config *rest.Config) (*mapper, error) {
	if config == nil {
		return nil, errors.New("a cluster cannot be read without a client configuration")
	}
	config = pace.Reads.Of(config)
	config.Timeout = discoveryTimeout
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	return &mapper{
		discovered: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found)),
		known:      map[asked]contextgate.Resource{},
	}, nil
}

// Resolve finds a resource. The question what is served takes no context, so it is
// waited for as long as ctx lasts.
func (m *mapper) Resolve(ctx context.Context, apiVersion, kind string) (contextgate.Resource, error) {
	name := asked{apiVersion, kind}
	m.mu.RLock()
	r, ok := m.known[name]
	m.mu.RUnlock()
	if ok {
		return r, nil
	}
	type answer struct {
		resource contextgate.Resource
		err      error
	}
	answered := make(chan answer, 1)
	go func() {
		r, err := contextgate.RESTMapper(m.discovered).Resolve(ctx, apiVersion, kind)
		answered <- answer{r, err}
	}()
	select {
	case a := <-answered:
		if a.err == nil {
			m.mu.Lock()
			if len(m.known) < maxKnown {
				m.known[name] = a.resource
			}
			m.mu.Unlock()
		}
		return a.resource, a.err
	case <-ctx.Done():
		return contextgate.Resource{}, fmt.Errorf("the API server did not say in time what it serves: %w", context.Cause(ctx))
	}
}

// refresh forgets what is served, so that it is asked for again.
func (m *mapper) refresh() {
	m.discovered.Reset()
	m.mu.Lock()
	m.known = map[asked]contextgate.Resource{}
	m.mu.Unlock()
}
