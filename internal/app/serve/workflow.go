package serve

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/app/server"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/controller/enforced"
	"github.com/sallyport-io/sallyport/internal/controller/leader"
	"github.com/sallyport-io/sallyport/internal/controller/workflow"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/watch/pace"
)

// workflowFlags are the flags of the workflow of exceptions.
type workflowFlags struct {
	users          []string
	leaseNamespace string
	unusedAfter    time.Duration
	retention      time.Duration

	// host is the name of this machine, and identity who this replica is.
	host, identity string
}

func (f *workflowFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.users, "controller-user", nil, "a further user name that Sallyport's own replicas have in the cluster, and that may write the status of exceptions (repeatable)")
	flags.StringVar(&f.leaseNamespace, "leader-election-namespace", "", "namespace of the Leases by which replicas agree which of them writes, and say what they have in force; that of the pod if not given, and kube-system outside of a pod")
	flags.DurationVar(&f.unusedAfter, "exception-unused-after", 30*24*time.Hour, "time without use after which the status of an exception says so")
	flags.DurationVar(&f.retention, "exception-retention", 30*24*time.Hour, "time that exceptions and answers are kept for the record once they are over; 0 keeps them forever")
}

// namespaceFile is where a pod reads which namespace it is in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// workflow makes the workflow of exceptions. enforced says whether one is enforced, and
// leads whether this replica is the one that writes.
func (f *Flags) workflow(config *rest.Config, store *policy.Store, enforced *enforced.Parts, leads func() bool, log *slog.Logger) (*workflow.Controller, error) {
	scheme, err := cluster.NewScheme()
	if err != nil {
		return nil, err
	}
	guard, err := newGuard(config, scheme, store, f.flow.users, log)
	if err != nil {
		return nil, err
	}
	guard.Sessions, guard.Doors = f.breakglass.limits, f.clusters.doors(f.server.ClusterName, f.server.Callers == server.CallersNetwork)
	f.server.Guard = guard
	if err := f.flow.identify(); err != nil {
		return nil, err
	}
	controller, err := workflow.NewController(workflow.Options{
		Config: config, Scheme: scheme, Followed: f.known.workedOn(), Set: store.Set, Ledger: store.Options().Ledger, Leads: leads, Clock: clock.RealClock{},
		Log:         logr.FromSlogHandler(log.Handler()).WithName("workflow"),
		UnusedAfter: f.flow.unusedAfter, Retention: f.flow.retention, Enforced: enforced.Condition,
		Breakglass: f.breakglass.options(f.server.ClusterName, guard.Doors),
	})
	if err != nil {
		return nil, err
	}
	return controller, nil
}

// election makes what has one replica do what is to be done once, beside the workflow.
func (f *Flags) election(config *rest.Config, controller *workflow.Controller, log *slog.Logger) (*leader.Election, error) {
	client, err := kubernetes.NewForConfig(leader.Apart(pace.Elections.Of(config)))
	if err != nil {
		return nil, fmt.Errorf("no client for the API server could be made: %w", err)
	}
	election := leader.New(leader.Options{
		Client: client, Namespace: f.flow.namespace(), Identity: f.flow.identity, Able: controller.Able, Work: controller.Lead,
		Clock: clock.RealClock{}, Log: logr.FromSlogHandler(log.Handler()).WithName("leader"),
	})
	f.ending.resign = election.Resign
	return election, nil
}

// identify finds out who this replica is.
func (f *workflowFlags) identify() (err error) {
	if f.host, err = os.Hostname(); err != nil {
		return fmt.Errorf("this machine's name, which replicas are told apart by, cannot be read: %w", err)
	}
	f.identity = fmt.Sprintf("%s-%d-%d", f.host, os.Getpid(), time.Now().UnixNano())
	return nil
}

// namespace is that of the leases.
func (f *workflowFlags) namespace() string {
	if f.leaseNamespace != "" {
		return f.leaseNamespace
	}
	if namespace := podNamespace(); namespace != "" {
		return namespace
	}
	return "kube-system"
}

// podNamespace is the namespace of the pod that this runs in; empty outside of one.
func podNamespace() string {
	text, err := os.ReadFile(namespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
