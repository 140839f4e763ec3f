package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

var _ request.Cluster = (*Cached)(nil)

// byNode is the index of pods by the node that they are bound to.
const byNode = "node"

// Cached answers reads of pods, service accounts and namespaces from watches. Until these have
// filled their caches, and for what the caches do not hold, it reads live.
//
// What is given up against Live: a decision can be about a state that is older
// by the delay of the watch. A pod that was deleted and made again under the same
// name within that delay is judged by its old spec, and an ephemeral container
// that was just added is not seen; while the API server cannot be reached, the
// state that was last known holds, where Live would follow the policy's fail
// mode. Managed fields, the annotation of kubectl apply and all of the status
// but the phase are not kept. In return a decision costs no call, and pods take
// memory.
type Cached struct {
	*Live
	pods, accounts cache.SharedIndexInformer
}

// NewCached makes the Cached of the cluster that config describes. Its options
// are those of a Live; namespaces are always watched. Nothing is sent until the
// first read or Run.
func NewCached(config *rest.Config, options ...Option) (*Cached, error) {
	live, err := NewLive(config, append(slices.Clone(options), WithNamespaceInformer())...)
	if err != nil {
		return nil, err
	}
	pods, err := live.add(live.client.core, "pods", &corev1.Pod{}, cache.Indexers{byNode: nodeOf})
	if err != nil {
		return nil, err
	}
	accounts, err := live.add(live.client.core, "serviceaccounts", &corev1.ServiceAccount{}, nil)
	if err != nil {
		return nil, err
	}
	return &Cached{Live: live, pods: pods, accounts: accounts}, nil
}

// ServiceAccount reads one service account from the watch, and live if the watch
// does not hold it.
func (c *Cached) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	if account, ok := cached[*corev1.ServiceAccount](c.accounts, namespace+"/"+name); ok {
		return account, nil
	}
	return c.Live.ServiceAccount(ctx, namespace, name)
}

// Pod reads one pod from the watch, and live if the watch does not hold it.
func (c *Cached) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	if pod, ok := cached[*corev1.Pod](c.pods, namespace+"/"+name); ok {
		return pod, nil
	}
	return c.Live.Pod(ctx, namespace, name)
}

// PodsOnNode reads the pods that are bound to a node from the watch, in the
// order of their namespaces and names, and live until the watch has filled its
// cache.
func (c *Cached) PodsOnNode(ctx context.Context, node string) ([]*corev1.Pod, error) {
	if node == "" || !c.pods.HasSynced() {
		return c.Live.PodsOnNode(ctx, node)
	}
	objects, err := c.pods.GetIndexer().ByIndex(byNode, node)
	if err != nil {
		return nil, fmt.Errorf("the pods of node %s cannot be read: %w", node, err)
	}
	pods := make([]*corev1.Pod, 0, len(objects))
	for _, object := range objects {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return nil, errors.New("the cache of pods holds something that is not a pod")
		}
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, comparePods)
	return pods, nil
}

// nodeOf is the node that a pod is bound to, if it is.
func nodeOf(object any) ([]string, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil, nil
	}
	return []string{pod.Spec.NodeName}, nil
}

// comparePods orders pods by namespace and name.
func comparePods(a, b *corev1.Pod) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}
