package cli

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/policy"
	"github.com/sallyport-io/sallyport/internal/policyserver"
)

// policyServerFlags say which PolicyServer this is, or where those run that it
// makes.
type policyServerFlags struct {
	name      string
	namespace string
}

func (f *policyServerFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "policy-server", "", "name of the PolicyServer that this is; policies that name another one, or none, are not judged here")
	flags.StringVar(&f.namespace, "policy-server-namespace", "", "namespace in which PolicyServers run; that of the pod if not given, and sallyport-system outside of a pod")
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

// policyServers makes what makes PolicyServers.
func (f *serveFlags) policyServers(config *rest.Config, leads func() bool, log *slog.Logger) (policySource, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	return policyserver.NewController(policyserver.Options{
		Config: config, Scheme: scheme, Namespace: f.hosting.runNamespace(), ClusterName: f.server.ClusterName,
		Callers: f.callers, Leads: leads, Clock: clock.RealClock{}, Log: logr.FromSlogHandler(log.Handler()).WithName("policyservers"),
	})
}

// callers are those that this Sallyport itself lets in. The files are read each
// time, as they change.
func (f *serveFlags) callers() (*policyserver.Callers, error) {
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
func (f *serveFlags) hosted(config *rest.Config, store *policy.Store, modules *moduleHost, log *slog.Logger) ([]policySource, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	logger := logr.FromSlogHandler(log.Handler()).WithName("policyserver")
	informer, err := policy.NewInformer(config, store, logger)
	if err != nil {
		return nil, err
	}
	informer.OnlyExceptions()
	reporter := policyserver.NewReporter(policyserver.Reporter{
		Client: direct, Clock: clock.RealClock{}, Log: logger,
		Policies: func() []policy.PolicyRef {
			var refs []policy.PolicyRef
			for _, p := range store.Set().ModulePolicies() {
				if modules.Hosts(p.Server) {
					refs = append(refs, policy.PolicyRef{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name})
				}
			}
			return refs
		},
		Describe: func(ref policy.PolicyRef, _ []metav1.Condition, _ int64) policy.Description {
			return modules.describe(ref)
		},
	})
	modules.tell(reporter.Notice)
	return []policySource{reporter, &policyserver.Exceptions{
		Client: direct, Watch: informer.Run, Synced: informer.Synced, Clock: clock.RealClock{}, Log: logger,
	}}, nil
}
