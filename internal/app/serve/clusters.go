package serve

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/app/server"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/app/version"
	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
	"github.com/sallyport-io/sallyport/internal/controller/clusters"
	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/observe/record"
	"github.com/sallyport-io/sallyport/internal/watch/follow/ours"
)

// clusterFlags are the flags about clusters: the server's own, and further ones.
type clusterFlags struct {
	tenant, environment string
	ownDoors            []string
	kubeconfigs         []string
	secretNamespace     string

	hub   *clusters.Hub
	files *clusters.Files
}

func (f *clusterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.tenant, "cluster-tenant", "", "tenant that the server's own cluster belongs to, for the policies that name tenants")
	flags.StringVar(&f.environment, "cluster-environment", "", "environment of the server's own cluster")
	flags.StringSliceVar(&f.ownDoors, "doors", []string{string(v1alpha1.DoorAdmission), string(v1alpha1.DoorAccess)}, "doors that the API server of the server's own cluster is wired to: admission, access; give only the one where it is wired to one")
	flags.StringArrayVar(&f.kubeconfigs, "cluster-kubeconfig", nil, "NAME=PATH: a further cluster that is guarded, and the kubeconfig that it is read by, which holds all that it needs (repeatable)")
	flags.StringVar(&f.secretNamespace, "cluster-secret-namespace", "", "the one namespace that the kubeconfigs of ClusterConfigs are read from; that of the pod if not given, and sallyport-system outside of a pod")
}

// open makes the hub of further clusters.
func (f *clusterFlags) open(own string, cache bool, staleness time.Duration, log *slog.Logger) error {
	for _, one := range []struct{ flag, value string }{{"--cluster-tenant", f.tenant}, {"--cluster-environment", f.environment}} {
		if why := clusterconfig.CheckName(one.value); one.value != "" && why != "" {
			return usage.Errorf("%s is %q; it %s", one.flag, one.value, why)
		}
	}
	for _, door := range f.ownDoors {
		if door != string(v1alpha1.DoorAdmission) && door != string(v1alpha1.DoorAccess) {
			return usage.Errorf("--doors is %q; admission, access or both are expected", strings.Join(f.ownDoors, ","))
		}
	}
	paths := map[string]string{}
	for _, given := range f.kubeconfigs {
		name, path, ok := strings.Cut(given, "=")
		if !ok || name == "" || path == "" {
			return usage.Errorf("--cluster-kubeconfig is %q; NAME=PATH is expected", given)
		}
		if paths[name] != "" {
			return usage.Errorf("--cluster-kubeconfig names cluster %q twice", name)
		}
		paths[name] = path
	}
	f.hub = clusters.NewHub(clusters.Options{
		Own: own, UserAgent: "sallyport/" + version.Read().Version, CachePods: cache, Staleness: staleness, Clock: clock.RealClock{},
		Log: logr.FromSlogHandler(log.Handler()).WithName("clusters"),
	})
	var err error
	f.files, err = clusters.NewFiles(f.hub, paths)
	return err
}

// doors says which doors a cluster is known to be wired to: own is the name of the
// server's. What is not said is not counted on. uncounted is set where the front door of that
// one is asked by callers without credentials.
func (f *clusterFlags) doors(own string, uncounted bool) func(cluster string) breakglass.Doors {
	return func(cluster string) breakglass.Doors {
		if cluster == own {
			return breakglass.Doors{
				Admission: slices.Contains(f.ownDoors, string(v1alpha1.DoorAdmission)), Access: slices.Contains(f.ownDoors, string(v1alpha1.DoorAccess)), Uncounted: uncounted,
			}
		}
		if c := f.hub.Find(cluster); c != nil {
			return c.Doors
		}
		return breakglass.Doors{}
	}
}

// informer feeds the hub from the API server that config leads to.
func (f *clusterFlags) informer(config *rest.Config, leads func() bool, followed *ours.Kinds) (policySource, error) {
	return clusters.NewInformer(config, f.hub, f.namespace(), leads, followed)
}

// sallyportNamespace is the one that config/rbac has the account in.
const sallyportNamespace = "sallyport-system"

func (f *clusterFlags) namespace() string {
	if f.secretNamespace != "" {
		return f.secretNamespace
	}
	if text, err := os.ReadFile(namespaceFile); err == nil && strings.TrimSpace(string(text)) != "" {
		return strings.TrimSpace(string(text))
	}
	return sallyportNamespace
}

// finder finds the state of a cluster by its name: own is that of the server's.
func (f *clusterFlags) finder(name string, own server.State) func(string) (server.State, error) {
	own.Tenant, own.Environment = f.tenant, f.environment
	return func(asked string) (server.State, error) {
		if asked == name {
			return own, nil
		}
		c := f.hub.Find(asked)
		if c == nil {
			return server.State{}, fmt.Errorf("cluster %q is not known here; the path that the API server is told to ask at must end with the clusterID of a ClusterConfig, with the name that --cluster-name gives, %q, or with none", asked, name)
		}
		if c.Unusable != "" {
			return server.State{Exclusive: c.Callers != nil}, fmt.Errorf("%s; every request for cluster %q is refused until it is corrected", c.Unusable, asked)
		}
		return server.State{
			Cluster: c.Reader, Authorizer: c.Authorizer, Controllers: own.Controllers, Tenant: c.Tenant, Environment: c.Environment,
			Elsewhere: true, Exclusive: c.Callers != nil, Known: c.Known,
		}, nil
	}
}

// namespaces are those of every cluster that is guarded, of which own are those of the
// server's; not known where there are others, whose namespaces are not watched.
func (f *clusterFlags) namespaces(own func() ([]*corev1.Namespace, bool)) func() ([]*corev1.Namespace, bool) {
	return func() ([]*corev1.Namespace, bool) {
		if len(f.hub.All()) > 0 {
			return nil, false
		}
		return own()
	}
}

// states are those of the clusters, for the metrics.
func (f *clusterFlags) states() []record.ClusterState {
	all := f.hub.All()
	states := make([]record.ClusterState, len(all))
	for i, c := range all {
		health := c.Health()
		states[i] = record.ClusterState{Name: c.ID, Up: health.Ready(), LastContact: health.LastContact}
		states[i].Busy, states[i].Unreachable = c.Refused()
	}
	return states
}
