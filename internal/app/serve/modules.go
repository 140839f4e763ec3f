package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/wasm/runner"
)

// runModules makes what runs the modules of policies. config leads to the cluster
// that they may read; nil where there is none.
func (f *Flags) runModules(ctx context.Context, config *rest.Config, store *policy.Store, registry *prometheus.Registry, log *slog.Logger) (*servedModules, error) {
	logger := logr.FromSlogHandler(log.Handler()).WithName("modules")
	host, err := f.modules.Host(ctx, config, runner.Options{
		Server: f.hosting.name, Elsewhere: f.hosting.judgedElsewhere(), Observer: record.NewModules(registry, logger), Log: logger,
		Context: f.context.host,
	})
	if err != nil {
		return nil, err
	}
	modules := &servedModules{ModuleHost: host, store: store, server: f.hosting.name}
	store.Run(modules.Host)
	return modules, nil
}

// watchSets is told of each set that comes into force: its modules are loaded, and
// what covers nothing is said.
func (f *Flags) watchSets(log *slog.Logger, modules *servedModules) func(*policy.Set) {
	warn := warnUncovered(log, f.server.ClusterName)
	return func(set *policy.Set) {
		modules.want()
		warn(set)
	}
}

// describe says of a policy that is a module what became of it.
func (h *servedModules) describe(ref stored.Ref) policy.Description {
	p := h.store.Set().ModulePolicy(ref)
	switch {
	case ref.Kind == stored.KindPolicyServer || p != nil && !h.Hosts(p):
		return policy.Description{Elsewhere: true}
	case p == nil:
		return policy.Description{}
	}
	meanwhile := p.Server != h.server
	info, err := h.Status(p)
	if err != nil {
		return policy.Description{NotReady: err, Reason: notReady(err), Meanwhile: meanwhile}
	}
	granted := metav1.Condition{
		Type: v1alpha1.ConditionContextGranted, Status: metav1.ConditionTrue, Reason: "Granted",
		Message: "the policy was granted all that its module declares to read",
	}
	if len(info.Missing) > 0 {
		granted.Status, granted.Reason = metav1.ConditionFalse, "NotGranted"
		granted.Message = "what the module declares to read and the policy was not granted is refused to it: " + strings.Join(info.Missing, "; ")
	}
	return policy.Description{Conditions: []metav1.Condition{granted}, Meanwhile: meanwhile}
}

// notReady is why a module cannot be asked, in one word.
func notReady(err error) string {
	var waiting *runner.NotReady
	var refused *runner.SettingsRefused
	switch {
	case errors.As(err, &waiting) && waiting.Loading:
		return "ModuleLoading"
	case errors.As(err, &refused):
		return "SettingsRefused"
	}
	return "ModuleNotUsable"
}

// warnUncovered logs the same of each set that comes into force in a server.
func warnUncovered(log *slog.Logger, cluster string) func(*policy.Set) {
	return func(set *policy.Set) {
		for _, sentence := range set.CoverNothing(cluster, clusterNameFlag) {
			log.Warn(sentence)
		}
	}
}

// clusterNameFlag names the cluster of the server.
const clusterNameFlag = "--cluster-name"
