package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tetratelabs/wazero/api"
)

// regoPolicy is what an evaluator keeps of a module made from Rego: instances
// that hold the data of one version.
type regoPolicy struct {
	policy   *evaluator
	data     ContextData
	sequence atomic.Uint64
	// turn is held by whoever reads new data into a module.
	turn chan struct{}

	mu      sync.Mutex
	current *regoState
	closed  bool
	// ending counts the states whose instances have not been closed.
	ending sync.WaitGroup
}

// regoState is a module with settings and data read into it, and the instances
// that are copies of that.
type regoState struct {
	settings []byte
	version  string
	// sequence is that of the evaluation which asked for the data.
	sequence uint64

	snapshot *snapshot
	data     uint32
	heap     uint32
	pool     *pool

	// users and superseded are guarded by the policy.
	users      int
	superseded bool
}

// regoPolicies are those that have instances of one module.
type regoPolicies struct {
	mu     sync.Mutex
	all    map[*regoPolicy]bool
	closed bool
}

func (r *regoPolicies) add(p *regoPolicy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[*regoPolicy]bool{}
	}
	r.all[p] = true
	if r.closed {
		p.close()
	}
}

func (r *regoPolicies) remove(p *regoPolicy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, p)
}

// close ends the instances of all of them and waits for that.
func (r *regoPolicies) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for p := range r.all {
		p.close()
	}
	for p := range r.all {
		p.ending.Wait()
	}
	r.all = nil
}

func newRegoPolicy(p *evaluator, data ContextData) *regoPolicy {
	r := &regoPolicy{policy: p, data: data, turn: make(chan struct{}, 1)}
	r.turn <- struct{}{}
	return r
}

// headroom is how much memory beyond the data an instance begins with, in pages.
// An evaluation that takes more than that grows the memory, and its instance is
// not used again.
const headroom = 6

// acquire returns the state that an evaluation with settings uses, until it is
// given back with release.
func (r *regoPolicy) acquire(state *evaluation, settings []byte) (*regoState, error) {
	sequence := r.sequence.Add(1)
	data, version, err := r.read(state)
	if err != nil {
		return nil, err
	}
	if s, err := r.find(settings, version, sequence); s != nil || err != nil {
		return s, err
	}
	select {
	case <-r.turn:
	case <-state.ctx.Done():
		return nil, state.ctx.Err()
	}
	defer func() { r.turn <- struct{}{} }()
	if s, err := r.find(settings, version, sequence); s != nil || err != nil {
		return s, err
	}
	made, err := r.build(state, settings, data)
	if err != nil {
		return nil, err
	}
	made.version, made.sequence, made.users = version, sequence, 1
	if !r.put(made) {
		made.pool.close()
		return nil, ErrClosed
	}
	return made, nil
}

// put makes s the current state, unless the policy has ended.
func (r *regoPolicy) put(s *regoState) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.supersede()
	r.ending.Add(1)
	r.current = s
	return true
}

// find returns the state if it has the data that were asked for, or newer ones.
func (r *regoPolicy) find(settings []byte, version string, sequence uint64) (*regoState, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.current
	switch {
	case r.closed:
		return nil, ErrClosed
	case s == nil || !bytes.Equal(s.settings, settings) || s.version != version && s.sequence < sequence:
		return nil, nil
	}
	s.users++
	return s, nil
}

func (r *regoPolicy) release(s *regoState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.users--
	if s.superseded && s.users == 0 {
		r.end(s)
	}
}

func (r *regoPolicy) supersede() {
	if s := r.current; s != nil {
		r.current, s.superseded = nil, true
		if s.users == 0 {
			r.end(s)
		}
	}
}

// end closes the instances of a state that nobody uses.
func (r *regoPolicy) end(s *regoState) {
	go func() {
		defer r.ending.Done()
		s.pool.close()
	}()
}

// close ends the instances, those that are in use when their evaluations end.
func (r *regoPolicy) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.supersede()
}

// read asks for what the policy may read.
func (r *regoPolicy) read(state *evaluation) (data []byte, version string, err error) {
	if r.data == nil {
		return nil, "", nil
	}
	answer, ended := r.policy.await(state.ctx, func() ([]byte, error) {
		data, v, err := r.data.Data(state.ctx)
		// Nothing reads it where the evaluation has ended meanwhile.
		version = v
		return data, err
	}, "reading the cluster for it")
	switch {
	case ended:
		return nil, "", state.ctx.Err()
	case answer.err != nil:
		return nil, "", &unread{answer.err}
	case len(answer.content) > state.limits.HostCallBytes:
		return nil, "", &unread{fmt.Errorf("it is %d bytes; at most %d are given to a module", len(answer.content), state.limits.HostCallBytes)}
	case jsontext.Value(answer.content).Kind() != '{':
		return nil, "", &unread{errors.New("it is not a JSON object")}
	}
	return answer.content, version, nil
}

// unread is the error of data that could not be read.
type unread struct{ err error }

func (u *unread) Error() string {
	return "what the policy reads of the cluster could not be read: " + u.err.Error()
}
func (u *unread) Unwrap() error { return u.err }

// document is the data of a module.
func (m *Module) document(settings, data []byte) []byte {
	switch {
	case m.mode == ModeGatekeeper && data == nil:
		return []byte("{}")
	case m.mode == ModeGatekeeper:
		return append(append([]byte(`{"inventory":`), data...), '}')
	case data == nil:
		return settings
	}
	out := append(make([]byte, 0, len(settings)+len(data)+16), bytes.TrimSpace(settings[:len(settings)-1])...)
	if len(out) > 1 {
		out = append(out, ',')
	}
	return append(append(append(out, `"`+keyKubernetes+`":`...), data...), '}')
}

// build reads settings and data into a new instance, and makes others of it.
func (r *regoPolicy) build(state *evaluation, settings, data []byte) (*regoState, error) {
	m := r.policy.module
	s := &regoState{settings: bytes.Clone(settings)}
	document := m.document(settings, data)
	first, err := s.load(state, m, document)
	if err != nil {
		return nil, err
	}
	if m.fresh == "" {
		var why string
		if s.snapshot, why = takeSnapshot(first); why != "" {
			first.close()
			return nil, errors.New(why)
		}
	}
	first.snapshot = s.snapshot
	s.pool = newPool(m.instances, func(ctx context.Context) (*instance, error) {
		if s.snapshot == nil {
			return s.load(&evaluation{ctx: context.WithValue(ctx, evaluationKey{}, state), policy: r.policy, limits: state.limits}, m, document)
		}
		return s.copy(ctx, m)
	}, true)
	s.pool.push(first)
	return s, nil
}

// copy makes an instance that holds what the first one did.
func (s *regoState) copy(ctx context.Context, m *Module) (*instance, error) {
	i, err := m.make(ctx)
	if err != nil {
		return nil, err
	}
	i.state, i.snapshot = s, s.snapshot
	if err := s.snapshot.apply(i); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

// load makes an instance and has it parse the document.
func (s *regoState) load(asked *evaluation, m *Module, document []byte) (*instance, error) {
	i, err := m.make(asked.ctx)
	if err != nil {
		return nil, err
	}
	i.state = s
	state := &evaluation{policy: asked.policy, limits: asked.limits, operation: asked.operation, now: asked.now}
	state.ctx = context.WithValue(asked.ctx, evaluationKey{}, state)
	defer state.finish()
	err = i.guard(state, func() error {
		data := state.load(i.module, document, i.opa.jsonParse, "its data")
		heap, err := invoke(state.ctx, i.opa.heapGet)
		if err != nil {
			return err
		}
		s.data, s.heap = data, heap
		grow(i.module, headroom)
		return nil
	})
	if err != nil {
		i.close()
		return nil, failure(asked.ctx, m.name, "reading its data", state, err)
	}
	return i, nil
}

// grow adds pages to the memory, as far as that is allowed.
func grow(module api.Module, pages uint32) {
	for ; pages > 0; pages /= 2 {
		if _, ok := module.Memory().Grow(pages); ok {
			return
		}
	}
}
