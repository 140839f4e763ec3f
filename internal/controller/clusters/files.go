package clusters

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster/clusterconfig"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

// originFiles is how the hub calls what comes from files.
const originFiles = "files"

// Files feeds a Hub with clusters whose kubeconfigs are files, and with the
// ClusterConfigs of files, which say more of them. No Secret is read from files.
type Files struct {
	hub   *Hub
	paths map[string]string
	clock clock.WithTicker

	mu      sync.Mutex
	configs []source.Of[*v1alpha1.ClusterConfig]
}

// NewFiles makes a Files of the paths of kubeconfigs by the names of clusters.
// Each is read, and one that cannot be used is an error.
func NewFiles(hub *Hub, paths map[string]string) (*Files, error) {
	f := &Files{hub: hub, paths: paths, clock: hub.options.Clock}
	names := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(paths)) {
		if why := clusterconfig.CheckName(id); why != "" {
			return nil, fmt.Errorf("the name of a cluster is %q; it %s", id, why)
		}
		if other, twice := names[clusterconfig.Fold(id)]; twice {
			return nil, fmt.Errorf("the clusters %s and %s differ only in upper and lower case; give one of them another name", other, id)
		}
		names[clusterconfig.Fold(id)] = id
		if own := hub.options.Own; own != "" && clusterconfig.Fold(own) == clusterconfig.Fold(id) {
			return nil, fmt.Errorf("the cluster %s", clusterconfig.Taken(id))
		}
		content, err := os.ReadFile(paths[id])
		if err != nil {
			return nil, fmt.Errorf("the kubeconfig of cluster %s cannot be read: %w", id, err)
		}
		if _, err := ParseKubeconfig(content); err != nil {
			return nil, fmt.Errorf("the kubeconfig of cluster %s, %s, cannot be used: %w", id, paths[id], err)
		}
	}
	f.put()
	return f, nil
}

// Check lists what is wrong with the ClusterConfigs of files: above all, that the
// kubeconfig of one is not named.
func (f *Files) Check(configs []source.Of[*v1alpha1.ClusterConfig]) source.Problems {
	problems := clusterconfig.Problems(configs, f.hub.options.Own)
	for _, s := range configs {
		id := clusterconfig.ID(s.Object)
		if f.paths[id] == "" {
			problems = append(problems, source.Problem{Origin: s.Origin, Kind: clusterconfig.Kind, Name: s.Object.Name,
				Detail: fmt.Sprintf("no Secret is read from files, and so not its kubeconfig; name that with --cluster-kubeconfig %s=PATH", id)})
		}
	}
	return problems
}

// Set puts ClusterConfigs, in which Check found nothing wrong, in place of
// those before.
func (f *Files) Set(configs []source.Of[*v1alpha1.ClusterConfig]) {
	f.mu.Lock()
	f.configs = configs
	f.mu.Unlock()
	f.put()
}

// put reads the kubeconfigs and puts all clusters into the hub.
func (f *Files) put() {
	f.mu.Lock()
	defer f.mu.Unlock()
	var definitions []Definition
	for _, id := range slices.Sorted(maps.Keys(f.paths)) {
		d := Definition{ID: id}
		if c := clusterconfig.Named(f.configs, id); c != nil {
			d = definitionOf(c)
		}
		content, err := os.ReadFile(f.paths[id])
		if err != nil {
			d.Problem = Problem{ReasonInvalidKubeconfig, fmt.Sprintf("its kubeconfig cannot be read: %v", err)}
			f.hub.options.Log.Error(err, "the kubeconfig of a cluster cannot be read", "cluster", id)
		}
		d.Kubeconfig = content
		definitions = append(definitions, d)
	}
	f.hub.Replace(originFiles, definitions)
}

// Ready is always nil: without a first reading there are no Files.
func (f *Files) Ready() error { return nil }

// Run reads kubeconfigs again when they change, until ctx ends.
func (f *Files) Run(ctx context.Context) error {
	if len(f.paths) == 0 {
		<-ctx.Done()
		return nil
	}
	load.NewWatcher(slices.Sorted(maps.Values(f.paths)), f.clock).Run(ctx, f.put)
	return nil
}
