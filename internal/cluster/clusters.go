package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-io/sallyport/internal/request"
)

// Clusters are the clusters that an installation guards, by name.
type Clusters map[string]request.Cluster

// Get finds a cluster. A name that no cluster has is an error.
func (c Clusters) Get(name string) (request.Cluster, error) {
	if cluster := c[name]; cluster != nil {
		return cluster, nil
	}
	known := slices.Sorted(maps.Keys(c))
	if len(known) == 0 {
		return nil, fmt.Errorf("cluster %q is not guarded by this server, and neither is any other", name)
	}
	return nil, fmt.Errorf("cluster %q is not guarded by this server; it guards %s", name, strings.Join(known, ", "))
}
