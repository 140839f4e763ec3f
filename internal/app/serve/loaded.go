package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// servedModules are the modules of the policies that a server has in force.
type servedModules struct {
	*option.ModuleHost
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
}

// want has the modules loaded of the policies that are run here as things stand.
func (h *servedModules) want() {
	h.wanting.Lock()
	defer h.wanting.Unlock()
	h.Want(h.store.Set().ModulePolicies())
}

// took reports whether a policy that names this server, or none, is judged by here:
// its module was loaded, or failed to be, so that its failure policy answers.
func (h *servedModules) took(ref stored.Ref, server string) bool {
	p := h.store.Set().ModulePolicy(ref)
	if p == nil || p.Server != server || !h.Hosts(p) {
		return false
	}
	var waiting *runner.NotReady
	_, err := h.Status(p)
	return !errors.As(err, &waiting) || !waiting.Loading
}

// Run waits for the end. It makes the host a policySource.
func (h *servedModules) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Ready says whether the modules of the policies that were there first have been
// loaded, or failed to be. Later ones do not make the server unready.
func (h *servedModules) Ready() error {
	if h.settled.Load() || !h.there() {
		return nil
	}
	if p := h.loading(func(*runner.Policy) bool { return true }); p != nil {
		return fmt.Errorf("the module of %s is being loaded", p)
	}
	h.settled.Store(true)
	return nil
}

// there reports whether the first policies are.
func (h *servedModules) there() bool { return h.read == nil || h.read() }

// loading is one of some policies whose module is being loaded, and has not failed to
// be; nil if there is none.
func (h *servedModules) loading(some func(*runner.Policy) bool) *runner.Policy {
	for _, p := range h.store.Set().ModulePolicies() {
		var waiting *runner.NotReady
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
func (h *servedModules) known() func() error {
	var settled atomic.Bool
	return func() error {
		switch {
		case settled.Load():
			return nil
		case !h.there():
			return errors.New("the policies are not there yet")
		}
		if p := h.loading(func(p *runner.Policy) bool { return p.Namespace == "" }); p != nil {
			return fmt.Errorf("the module of %s is being loaded", p)
		}
		settled.Store(true)
		return nil
	}
}
