package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/files/policiesfile"
)

// policiesOrigin is how the store calls what comes from a file of policies.
const policiesOrigin = "policies"

// maxPoliciesFile bounds a file of policies.
const maxPoliciesFile = 16 << 20

// policiesSource takes policies that are modules from a file that lists them by
// their ids, as a PolicyServer has it.
type policiesSource struct {
	path, server string
	store        *policy.Store
	log          *slog.Logger
	watcher      *load.Watcher
}

// newPoliciesSource loads the file for the first time. server is the PolicyServer
// that runs what stands in it. An error holds all that is wrong with it.
func newPoliciesSource(path, server string, store *policy.Store, log *slog.Logger, clock clock.WithTicker) (*policiesSource, error) {
	p := &policiesSource{path: path, server: server, store: store, log: log, watcher: load.NewWatcher([]string{path}, clock)}
	if err := p.load(); err != nil {
		return nil, err
	}
	return p, nil
}

// Ready is always nil: without a first load there is no policiesSource.
func (p *policiesSource) Ready() error { return nil }

// Run loads the file again after each change. What cannot be used is told, and the
// last good state stays in force.
func (p *policiesSource) Run(ctx context.Context) error {
	p.watcher.Run(ctx, func() {
		if err := p.load(); err != nil {
			p.log.Error("a change of the policies was refused; the last good ones stay in force", "path", p.path, "error", err)
		}
	})
	return nil
}

func (p *policiesSource) load() error {
	sources, problems := p.read()
	if len(problems) > 0 {
		p.store.Refuse(problems)
		return problems
	}
	policiesfile.Assign(&sources, p.server)
	if problems := p.store.Replace(policiesOrigin, sources); len(problems) > 0 {
		return problems
	}
	p.log.Info("policies are in force", "path", p.path, "clusterAdmissionPolicies", len(sources.ClusterAdmissionPolicies), "admissionPolicies", len(sources.AdmissionPolicies))
	return nil
}

func (p *policiesSource) read() (policy.Sources, stored.Problems) {
	wrong := func(err error) (policy.Sources, stored.Problems) {
		return policy.Sources{}, stored.Problems{{Origin: p.path, Detail: err.Error()}}
	}
	info, err := os.Stat(p.path)
	switch {
	case err != nil:
		return wrong(fmt.Errorf("cannot be read: %w", err))
	case !info.Mode().IsRegular():
		return wrong(errors.New("is not a file"))
	case info.Size() > maxPoliciesFile:
		return wrong(fmt.Errorf("has %d bytes; at most %d are read", info.Size(), maxPoliciesFile))
	}
	data, err := os.ReadFile(p.path)
	if err != nil {
		return wrong(fmt.Errorf("cannot be read: %w", err))
	}
	return policiesfile.Read(p.path, data)
}
