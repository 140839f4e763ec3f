package runner

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
)

// Context answers what modules ask of their host. *contextgate.Gate is one.
type Context interface {
	// Call answers a call that was granted; one that was not is a
	// *contextgate.Denied.
	Call(ctx context.Context, policy *contextgate.Policy, call hostcall.Call) ([]byte, error)
	// Missing says what of the declared resources the policy was not granted.
	Missing(ctx context.Context, policy *contextgate.Policy, declared []contextgate.Grant) []string
}

// Fetcher gets modules. *fetch.Fetcher is one.
type Fetcher interface {
	Fetch(ctx context.Context, address string) (*fetch.Module, error)
}

// Options are what a Host is made with. All are needed but Observer, Changed,
// Server and Elsewhere.
type Options struct {
	Engine  *wasm.Engine
	Fetcher Fetcher
	Context Context
	// Server is the PolicyServer that this is; empty for Sallyport itself, which runs
	// what names no server, and what names one and is not judged there.
	Server string
	// Elsewhere reports whether a policy that names a PolicyServer is judged there; nil
	// where none is.
	Elsewhere func(p *Policy) bool
	Observer  wasm.Observer
	// Changed is told when the state of a policy changes.
	Changed func()
	Clock   clock.WithTicker
	Log     logr.Logger
}

// loads is how many modules are fetched and compiled at the same time, and trials how
// many policies that are not in force are tried at the same time. Policies of
// namespaces have as many of their own: whoever may write one chooses a server that
// answers slowly, and must not keep the policies of the cluster from being loaded.
const (
	loads  = 4
	trials = 2
)

// places are those of the policies of the cluster and of those of namespaces.
type places struct{ cluster, namespaced chan struct{} }

func newPlaces(each int) places {
	return places{cluster: make(chan struct{}, each), namespaced: make(chan struct{}, each)}
}

// of gives the places that a policy has to find one in.
func (p places) of(policy *Policy) chan struct{} {
	if policy.Namespace != "" {
		return p.namespaced
	}
	return p.cluster
}

// Host runs the modules of policies. It is safe for concurrent use.
type Host struct {
	options Options
	// ctx ends what is loaded in the background.
	ctx    context.Context
	cancel context.CancelFunc
	places places
	trials places
	busy   sync.WaitGroup
	turns  turns

	mu     sync.RWMutex
	states map[string]*state
	shared map[string]*shared
	closed bool
}

// NewHost makes a Host. Close it to let go of what it loaded.
func NewHost(options Options) *Host {
	ctx, cancel := context.WithCancel(context.Background())
	if options.Changed == nil {
		options.Changed = func() {}
	}
	return &Host{
		options: options, ctx: ctx, cancel: cancel, places: newPlaces(loads), trials: newPlaces(trials),
		states: map[string]*state{}, shared: map[string]*shared{},
	}
}

// Hosts reports whether a policy is run here. What is not judged by the PolicyServer
// that it names is run by Sallyport itself: it is not to be judged by nobody.
func (h *Host) Hosts(p *Policy) bool {
	if p.Server == h.options.Server {
		return true
	}
	return h.options.Server == "" && (h.options.Elsewhere == nil || !h.options.Elsewhere(p))
}

// Want has these policies loaded, and no others kept. It returns at once.
func (h *Host) Want(policies []*Policy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	wanted := make(map[string]bool, len(policies))
	for _, p := range policies {
		if !h.Hosts(p) {
			continue
		}
		wanted[p.key] = true
		if h.states[p.key] == nil {
			s := &state{policy: p, ended: make(chan struct{}), settled: make(chan struct{})}
			h.states[p.key] = s
			h.busy.Add(1)
			go h.keepLoading(s)
		}
	}
	for key, s := range h.states {
		if !wanted[key] {
			delete(h.states, key)
			close(s.ended)
			h.let(s)
		}
	}
}

// Load is Want, and waits until each policy has been loaded or failed to be.
func (h *Host) Load(ctx context.Context, policies []*Policy) error {
	h.Want(policies)
	for _, p := range policies {
		s := h.find(p)
		if s == nil {
			continue
		}
		select {
		case <-s.settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close ends loading, waits for evaluations that run, and lets go of all modules.
func (h *Host) Close() {
	h.cancel()
	h.mu.Lock()
	h.closed = true
	for key, s := range h.states {
		delete(h.states, key)
		close(s.ended)
		h.let(s)
	}
	h.mu.Unlock()
	h.busy.Wait()
}

func (h *Host) find(p *Policy) *state {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.states[p.key]
}

// The first wait before something is tried again, and the longest.
const (
	firstRetry   = 5 * time.Second
	longestRetry = 5 * time.Minute
)

// keepLoading loads a policy, and tries again until it is loaded or not wanted
// any more.
func (h *Host) keepLoading(s *state) {
	defer h.busy.Done()
	wait := firstRetry
	for {
		again := h.loadInTurn(s)
		h.options.Changed()
		if !again {
			return
		}
		select {
		case <-s.ended:
			return
		case <-h.ctx.Done():
			return
		case <-h.options.Clock.After(wait):
		}
		wait = min(2*wait, longestRetry)
	}
}

// loadInTurn loads a policy when it is its turn. It reports whether trying again
// can help.
func (h *Host) loadInTurn(s *state) (again bool) {
	places := h.places.of(s.policy)
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-s.ended:
		return false
	case <-h.ctx.Done():
		return false
	}
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	go func() {
		select {
		case <-s.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	loaded, again, err := h.load(ctx, s.policy)
	// At an address that is not pinned, there may be another module the next time.
	again = err != nil && (again || !strings.Contains(s.policy.Module, "@sha256:"))
	log := h.options.Log.WithValues("policy", s.policy.String(), "module", s.policy.Module)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.states[s.policy.key] != s {
		// Nobody wants it any more.
		if loaded != nil {
			wasm.CloseEvaluator(loaded.evaluator)
			h.release(loaded.module)
		}
		return false
	}
	if err != nil {
		log.Error(err, "the module of a policy cannot be used", "triesAgain", again)
		s.fail(err)
	} else {
		log.Info("the module of a policy is ready", "digest", loaded.Digest, "runtime", loaded.Runtime)
		s.succeed(loaded)
	}
	return again
}
