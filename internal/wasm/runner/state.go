package runner

import (
	"fmt"
	"sync"

	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
)

// state is what is known of a policy that is wanted.
type state struct {
	policy *Policy
	// ended is closed when the policy is not wanted any more, settled when loading
	// it has come to something once.
	ended, settled chan struct{}
	once           sync.Once

	mu     sync.RWMutex
	loaded *loaded
	err    error
}

// loaded is a policy whose module is there.
type loaded struct {
	Info
	module    *shared
	evaluator wasm.Evaluator
}

// Info is what is known of a module that was loaded.
type Info struct {
	// Digest of the module, as sha256:hex, and of its manifest in a registry.
	Digest, Artifact string
	// Runtime is how the module is spoken to.
	Runtime string
	// Missing says what the module declares to read and the policy was not granted,
	// a line each.
	Missing []string
	// Rules are those of the module's metadata.
	Rules []module.Rule
	// Notes say what else is worth knowing, such as a module that changes objects
	// while the policy may not.
	Notes []string
}

func (s *state) fail(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.once.Do(func() { close(s.settled) })
}

func (s *state) succeed(l *loaded) {
	s.mu.Lock()
	s.loaded, s.err = l, nil
	s.mu.Unlock()
	s.once.Do(func() { close(s.settled) })
}

func (s *state) get() (*loaded, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.loaded != nil:
		return s.loaded, nil
	case s.err != nil:
		return nil, &NotReady{Policy: s.policy.String(), Err: s.err}
	}
	return nil, &NotReady{Policy: s.policy.String(), Loading: true}
}

// NotReady is the error for a policy whose module cannot be asked.
type NotReady struct {
	Policy string
	// Loading is set where the module is being got.
	Loading bool
	Err     error
}

// Error says why the module cannot be asked.
func (n *NotReady) Error() string {
	if n.Loading {
		return "the module of the policy is being loaded; try again in a moment"
	}
	return fmt.Sprintf("the module of the policy cannot be used: %v", n.Err)
}

// Unwrap gives what stands in the way.
func (n *NotReady) Unwrap() error { return n.Err }

// Status says what became of a policy: what is known of its module, or why it
// cannot be asked.
func (h *Host) Status(p *Policy) (Info, error) {
	s := h.find(p)
	if s == nil {
		return Info{}, &NotReady{Policy: p.String(), Loading: true}
	}
	l, err := s.get()
	if err != nil {
		return Info{}, err
	}
	return l.Info, nil
}
