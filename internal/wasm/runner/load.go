package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/sallyport-io/sallyport/internal/wasm"
	"github.com/sallyport-io/sallyport/internal/wasm/module"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
	"github.com/sallyport-io/sallyport/internal/wasm/regodata"
)

// shared is a compiled module, which all policies that use it share. Policies of
// namespaces share it only with one another: it has so many instances, and whoever
// may write such a policy could keep all of them busy with settings and requests of
// their own.
type shared struct {
	// key is the digest of the module, the mode that it was compiled for, and whom it
	// is for.
	key    string
	users  int
	once   sync.Once
	module *wasm.Module
	err    error
}

// load gets a policy's module and has it look at its settings. again says that
// trying once more can help.
func (h *Host) load(ctx context.Context, p *Policy) (_ *loaded, again bool, err error) {
	got := ctx
	if p.Namespace != "" {
		got = fetch.Foreign(ctx)
	}
	fetched, err := h.options.Fetcher.Fetch(got, p.Module)
	if err != nil {
		return nil, true, err
	}
	metadata, err := module.Read(fetched.Wasm)
	if err != nil {
		return nil, false, err
	}
	if err := h.usable(ctx, p, metadata); err != nil {
		return nil, false, err
	}
	mode := modeOf(metadata)
	m, err := h.compiled(ctx, p, fetched, mode)
	if err != nil {
		return nil, ctx.Err() != nil, err
	}
	l, again, err := h.try(ctx, p, m, metadata, mode)
	if err != nil {
		h.mu.Lock()
		h.release(m)
		h.mu.Unlock()
		return nil, again, err
	}
	l.Digest, l.Artifact = fetched.Digest, fetched.Artifact
	return l, false, nil
}

// usable refuses metadata of what is not a policy for requests of Kubernetes, and of
// what a policy of a namespace may not have, before anything of the module is run.
func (h *Host) usable(ctx context.Context, p *Policy, metadata *module.Metadata) error {
	if metadata == nil {
		return nil
	}
	if err := metadata.Check(); err != nil {
		return fmt.Errorf("the module's metadata cannot be used: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if metadata.PolicyType != module.Kubernetes {
		return fmt.Errorf("the module is for requests of the type %q, and not for those of Kubernetes", metadata.PolicyType)
	}
	if declared := metadata.Declared(); p.Namespace != "" && len(declared) > 0 {
		return fmt.Errorf("the module reads the cluster (%s), which a policy of a namespace may not; use a ClusterAdmissionPolicy", strings.Join(h.options.Context.Missing(ctx, p.Context, declared), "; "))
	}
	return nil
}

// modeOf is the mode of a module in Rego; empty for others.
func modeOf(metadata *module.Metadata) wasm.RegoMode {
	if metadata == nil {
		return ""
	}
	switch metadata.ExecutionMode {
	case module.OPA:
		return wasm.ModeOPA
	case module.Gatekeeper:
		return wasm.ModeGatekeeper
	}
	return ""
}

// compiled gives the module of a digest, and compiles it for the first that asks.
func (h *Host) compiled(ctx context.Context, p *Policy, fetched *fetch.Module, mode wasm.RegoMode) (*shared, error) {
	h.mu.Lock()
	key := fetched.Digest + " " + string(mode)
	if p.Namespace != "" {
		key += " of namespaces"
	}
	m := h.shared[key]
	if m == nil {
		m = &shared{key: key}
		h.shared[key] = m
	}
	m.users++
	h.mu.Unlock()
	// Another policy may wait for the same module: it is not given up with this one.
	m.once.Do(func() {
		m.module, m.err = h.options.Engine.Compile(context.WithoutCancel(ctx), fetched.Wasm, wasm.CompileOptions{Name: p.Module, Observer: h.options.Observer, Mode: mode})
	})
	if m.err != nil {
		h.mu.Lock()
		h.release(m)
		h.mu.Unlock()
		return nil, m.err
	}
	return m, nil
}

// release gives a module back. The last user of it has it closed. The caller
// holds the lock.
func (h *Host) release(m *shared) {
	if m.users--; m.users > 0 {
		return
	}
	delete(h.shared, m.key)
	if m.module == nil {
		return
	}
	h.busy.Add(1)
	go func() {
		defer h.busy.Done()
		if err := m.module.Close(context.Background()); err != nil {
			h.options.Log.Error(err, "a module could not be let go of", "module", m.key)
		}
	}()
}

// let gives back what a policy holds. The caller holds the lock.
func (h *Host) let(s *state) {
	s.mu.Lock()
	l := s.loaded
	s.loaded, s.err = nil, errors.New("the policy is not in force any more")
	s.mu.Unlock()
	s.once.Do(func() { close(s.settled) })
	if l != nil {
		wasm.CloseEvaluator(l.evaluator)
		h.release(l.module)
	}
}

// try has a module look at the settings of a policy, and compares what it
// declares with what the policy was granted.
func (h *Host) try(ctx context.Context, p *Policy, m *shared, metadata *module.Metadata, mode wasm.RegoMode) (_ *loaded, again bool, err error) {
	l := &loaded{module: m, Info: Info{Runtime: m.module.Kind().String()}}
	options := wasm.EvaluatorOptions{
		Policy: p.String(), Observer: h.options.Observer, Deadline: p.Timeout,
		HostCall: func(ctx context.Context, asked wasm.Call) ([]byte, error) { return h.call(ctx, p, asked) },
	}
	if mode != "" {
		options.Data = regodata.NewOf(h.gate, p.Context, mode, append(p.Grants[:len(p.Grants):len(p.Grants)], metadata.Declared()...)...)
	}
	l.evaluator = m.module.Evaluator(options)
	defer func() {
		if err != nil {
			wasm.CloseEvaluator(l.evaluator)
		}
	}()
	if _, err := l.evaluator.ProtocolVersion(ctx); err != nil {
		var failed *wasm.Error
		if !errors.As(err, &failed) || failed.Reason != wasm.ReasonGuest {
			return nil, ctx.Err() != nil, fmt.Errorf("its protocol version cannot be found out: %w", err)
		}
		// Modules from before there were versions know of no such operation.
	}
	valid, err := l.evaluator.ValidateSettings(ctx, p.Settings)
	switch {
	case err != nil:
		return nil, true, fmt.Errorf("the settings cannot be checked: %w", err)
	case !valid.Valid:
		return nil, false, &SettingsRefused{Message: valid.Message}
	}
	if metadata == nil {
		return l, false, nil
	}
	l.Rules = metadata.Rules
	l.Missing = h.options.Context.Missing(ctx, p.Context, metadata.Declared())
	if metadata.Mutating && !p.Mutating {
		l.Notes = append(l.Notes, "the module says that it changes objects, and spec.mutating is not set: what it would change is refused")
	}
	return l, false, nil
}

// SettingsRefused is the error for settings that a module does not take.
type SettingsRefused struct{ Message string }

// Error has the module's own words.
func (s *SettingsRefused) Error() string {
	if s.Message == "" {
		return "the module does not take the settings, and does not say why"
	}
	return "the module does not take the settings: " + s.Message
}
