package serve

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/sallyport-io/sallyport/internal/app/version"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/review/request"
	feeds "github.com/sallyport-io/sallyport/internal/watch/follow"
)

// clusterSource reads a live cluster.
type clusterSource struct {
	cluster interface {
		request.Cluster
		Run(ctx context.Context) error
		HasSynced() bool
		Namespaces() ([]*corev1.Namespace, bool)
	}
	reviews *cluster.Reviews
}

// newClusterSource makes a clusterSource, whose watches are followed as followed
// says. With cache, pods come from a watch;
// with rbac, the roles and bindings are watched.
func newClusterSource(config *rest.Config, followed func(string) feeds.Options, cache, rbac bool) (*clusterSource, error) {
	options := []cluster.Option{cluster.WithUserAgent("sallyport/" + version.Read().Version), cluster.WithNamespaceInformer(), cluster.WithFollow(followed)}
	if rbac {
		options = append(options, cluster.WithRBAC())
	}
	source := &clusterSource{}
	var err error
	if cache {
		source.cluster, err = cluster.NewCached(config, options...)
	} else {
		source.cluster, err = cluster.NewLive(config, options...)
	}
	if err != nil {
		return nil, err
	}
	source.reviews, err = cluster.NewReviews(config, options[0])
	return source, err
}

// Run keeps what is watched up to date.
func (s *clusterSource) Run(ctx context.Context) error { return s.cluster.Run(ctx) }

// Ready says whether all that is watched was read once.
func (s *clusterSource) Ready() error {
	if !s.cluster.HasSynced() {
		return errors.New("what is watched in the cluster was not read yet")
	}
	return nil
}
