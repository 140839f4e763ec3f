package serve

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/controller/certificate"
	"github.com/sallyport-io/sallyport/internal/controller/leader"
	"github.com/sallyport-io/sallyport/internal/controller/policies"
	"github.com/sallyport-io/sallyport/internal/controller/policyserver"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// policyServerFlags say which PolicyServer this is, or where those run that it
// makes.
type policyServerFlags struct {
	// letIn has the webhooks of policies let in what cannot be asked about.
	letIn     bool
	name      string
	namespace string
	// own is the Service by which API servers reach this Sallyport, where webhooks are
	// kept for the policies that it runs itself, and ownCA a file with its CA.
	own, ownCA string
	// elsewhere knows which policies PolicyServers judge by; nil where none does.
	elsewhere *policyserver.Elsewhere
	// took reports whether this Sallyport judges by a policy, see
	// policyserver.Options.Took.
	took func(ref stored.Ref, server string) bool
}

func (f *policyServerFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "policy-server", "", "name of the PolicyServer that this is; policies that name another one, or none, are not judged here")
	flags.StringVar(&f.namespace, "policy-server-namespace", "", "namespace in which PolicyServers run; that of the pod if not given, and sallyport-system outside of a pod")
	flags.StringVar(&f.own, "webhooks-for-policies", "", "keep webhooks for the policies that are modules and run here, which lead to the Service NAMESPACE/NAME or NAMESPACE/NAME:PORT of this Sallyport")
	flags.StringVar(&f.ownCA, "webhooks-ca-file", "", "the CA of this Sallyport's certificate, for --webhooks-for-policies")
}

// runNamespace is where PolicyServers run.
func (f *policyServerFlags) runNamespace() string {
	if f.namespace != "" {
		return f.namespace
	}
	if namespace := podNamespace(); namespace != "" {
		return namespace
	}
	return "sallyport-system"
}

// target says where the webhooks lead that are kept for the policies that run here, for
// what they trust now; nil where none are.
func (f *Flags) target() (func(trusted []byte) (*policyserver.Target, error), error) {
	h := &f.hosting
	if h.own == "" {
		return nil, nil
	}
	place, err := parseService("--webhooks-for-policies", h.own)
	if err != nil {
		return nil, err
	}
	return func(trusted []byte) (*policyserver.Target, error) {
		ca, err := f.ownBundle(trusted)
		if err != nil {
			return nil, err
		}
		return &policyserver.Target{Namespace: place.Namespace, Service: place.Service, Port: place.Port, CABundle: ca, LetIn: h.letIn}, nil
	}, nil
}

// ownBundle are the CAs that webhooks of this Sallyport are to trust, which trust this now.
func (f *Flags) ownBundle(trusted []byte) ([]byte, error) {
	if f.certificate.keeper != nil {
		return f.certificate.keeper.Bundle(trusted)
	}
	ca, err := os.ReadFile(f.hosting.ownCA)
	if err != nil {
		return nil, fmt.Errorf("the CA for webhooks cannot be read: %w", err)
	}
	// Replicas that come to keep their certificate in a Secret are not to be cut off by
	// one that does not.
	shows, _ := f.surveying.replicas.Others()
	return certificate.Beside(ca, trusted, shows), nil
}

// watchCA calls notice when the file with the CA for webhooks has changed, until ctx ends:
// the certificate beside it is shown within seconds.
func (f *policyServerFlags) watchCA(ctx context.Context, clock clock.WithTicker, notice func()) {
	if f.ownCA != "" {
		go load.NewWatcher([]string{f.ownCA}, clock).Run(ctx, notice)
	}
}

// policyServers makes what makes PolicyServers.
func (f *Flags) policyServers(config *rest.Config, leads func() bool, log *slog.Logger) (policySource, error) {
	scheme, err := cluster.NewScheme()
	if err != nil {
		return nil, err
	}
	own, err := f.target()
	if err != nil {
		return nil, err
	}
	return policyserver.NewController(policyserver.Options{
		Own: own, Took: f.hosting.took, Here: func(ref stored.Ref) bool { return !f.hosting.elsewhere.Judges(ref) },
		Config: leader.Only(config, leads), Scheme: scheme, Followed: f.known.workedOn(), Namespace: f.hosting.runNamespace(), ClusterName: f.server.ClusterName, Observe: f.server.Observe, LetIn: f.webhooks.letsIn(),
		Callers: f.callers, Leads: leads, Clock: clock.RealClock{}, Log: logr.FromSlogHandler(log.Handler()).WithName("policyservers"),
	})
}

// callers are those that this Sallyport itself lets in. The files are read each
// time, as they change.
func (f *Flags) callers() (*policyserver.Callers, error) {
	found := &policyserver.Callers{}
	for _, file := range []struct {
		name string
		into *[]byte
	}{{f.server.ClientCAFile, &found.ClientCA}, {f.server.TokenFile, &found.Tokens}} {
		if file.name == "" {
			continue
		}
		content, err := os.ReadFile(file.name)
		if err != nil {
			return nil, fmt.Errorf("what callers are let in by cannot be read: %w", err)
		}
		*file.into = content
	}
	return found, nil
}

// hosted is what a PolicyServer does beside judging: it lets exceptions count, and
// reports on its policies.
func (f *Flags) hosted(config *rest.Config, store *policy.Store, modules *servedModules, log *slog.Logger) ([]policySource, error) {
	scheme, err := cluster.NewScheme()
	if err != nil {
		return nil, err
	}
	direct, err := client.New(pace.Few.Of(config), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	logger := logr.FromSlogHandler(log.Handler()).WithName("policyserver")
	watch, err := policies.NewWatch(config, policy.NewFeed(store), logger, f.known.judgedBy(), exception.Kinds)
	if err != nil {
		return nil, err
	}
	reporter := policyserver.NewReporter(policyserver.Reporter{
		Client: direct, Clock: clock.RealClock{}, Log: logger,
		Policies: func() []stored.Ref {
			var refs []stored.Ref
			for _, p := range store.Set().ModulePolicies() {
				if modules.Hosts(p) {
					refs = append(refs, stored.Ref{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name})
				}
			}
			return refs
		},
		Describe: func(ref stored.Ref, existing []metav1.Condition, generation int64, since time.Time) policy.Description {
			d := modules.describe(ref)
			if p := store.Set().ModulePolicy(ref); p != nil {
				d.Conditions = append(d.Conditions, f.context.host.Conditions(p.Context, existing, generation, since)...)
			}
			return d
		},
	})
	modules.OnChange(reporter.Notice)
	exceptions := &policyserver.Exceptions{
		Client: direct, Watch: watch.Run, Synced: watch.Synced, Clock: clock.RealClock{}, Log: logger,
	}
	f.known.book.Add("exceptions", once(exceptions.Ready))
	return []policySource{reporter, exceptions}, nil
}
