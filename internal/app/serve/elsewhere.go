package serve

import (
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	metadataclient "k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/controller/policyserver"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// openElsewhere makes what knows which policies PolicyServers judge by, where this is
// Sallyport itself and takes policies from the API server that config leads to.
func (f *Flags) openElsewhere(config *rest.Config, log *slog.Logger) error {
	if config == nil || f.hosting.name != "" || !f.takesPolicies() {
		return nil
	}
	client, err := kubernetes.NewForConfig(pace.Watches.Of(config))
	if err != nil {
		return fmt.Errorf("no client for the API server could be made: %w", err)
	}
	servers, err := metadataclient.NewForConfig(pace.Watches.Of(config))
	if err != nil {
		return fmt.Errorf("no client for the API server could be made: %w", err)
	}
	f.hosting.elsewhere = policyserver.NewElsewhere(policyserver.ElsewhereOptions{
		Client: client, Metadata: servers, Namespace: f.hosting.runNamespace(),
		Line: &f.known.line, Clock: clock.RealClock{}, Log: logr.FromSlogHandler(log.Handler()).WithName("policyservers"),
	})
	return nil
}

// judgedElsewhere reports whether a policy that names a PolicyServer is judged there;
// nil where none is.
func (f *policyServerFlags) judgedElsewhere() func(*runner.Policy) bool {
	if f.elsewhere == nil {
		return nil
	}
	return func(p *runner.Policy) bool {
		return f.elsewhere.Judges(stored.Ref{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name})
	}
}
