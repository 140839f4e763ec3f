package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

var _ request.Cluster = (*Live)(nil)

// ErrRBACNotWatched is the error of ServiceAccountPowers where roles and
// bindings are not watched.
var ErrRBACNotWatched = errors.New("RBAC objects are not watched")

// pageSize is how many pods are asked for at once. A node holds 110 by default.
const pageSize = 500

// Live asks the API server at each read, so that the pod that is judged is the
// one that is there. See Option for what can be fed by watches instead. Make
// one with NewLive; Run keeps its watches going.
type Live struct {
	watches
	client     *client
	namespaces cache.SharedIndexInformer
	rbac       *watchedRBAC
	// resources remembers under which resource the objects of a kind are read.
	resources sync.Map
}

// NewLive makes the Live of the cluster that config describes. Nothing is sent
// until the first read or Run.
func NewLive(config *rest.Config, options ...Option) (*Live, error) {
	s, err := newSettings(options)
	if err != nil {
		return nil, err
	}
	c, err := newClient(config, s)
	if err != nil {
		return nil, err
	}
	l := &Live{client: c, watches: watches{follow: s.follow}}
	if s.watchNamespaces {
		l.namespaces, err = l.add(c.core, "namespaces", &corev1.Namespace{}, nil)
	}
	if s.watchRBAC && err == nil {
		l.rbac, err = newWatchedRBAC(&l.watches, c.rbac)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Run keeps the watches going until ctx ends, waits for them to end, closes
// every connection and returns. It is called once. Without watches there is
// nothing to keep going, and calling it is still right.
func (l *Live) Run(ctx context.Context) error {
	defer l.Close()
	return l.run(ctx)
}

// Close closes every connection. Reads that are under way fail; later ones
// connect again.
func (l *Live) Close() { l.client.connections.CloseAll() }

// Pod reads one pod from the API server.
func (l *Live) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	what := "pod " + namespace + "/" + name
	if namespace == "" || name == "" {
		return nil, fmt.Errorf("%s cannot be read: a pod has a namespace and a name", what)
	}
	pod, err := read[corev1.Pod](ctx, l.client, func() *rest.Request {
		return l.client.core.Get().Namespace(namespace).Resource("pods").Name(name)
	})
	if err != nil {
		return nil, unreadable(err, what, name)
	}
	// An answer of another kind decodes into an empty pod, in which nothing is
	// dangerous.
	if pod.Name != name || pod.Namespace != namespace {
		return nil, fmt.Errorf("%s cannot be read: the server answered with something else; is the address that of an API server?", what)
	}
	return pod, nil
}

// PodsOnNode reads the pods that are bound to a node from the API server. All
// pages together are bounded by the time-out of one read.
func (l *Live) PodsOnNode(ctx context.Context, node string) ([]*corev1.Pod, error) {
	if node == "" {
		return nil, errors.New("the pods of a node cannot be read without the node's name")
	}
	ctx, cancel := context.WithTimeout(ctx, l.client.readTimeout)
	defer cancel()
	options := metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
		Limit:         pageSize,
	}
	var pods []*corev1.Pod
	for {
		page, err := read[corev1.PodList](ctx, l.client, func() *rest.Request {
			return l.client.core.Get().Resource("pods").VersionedParams(&options, metav1.ParameterCodec)
		})
		if err != nil {
			return nil, fmt.Errorf("the pods of node %s cannot be read: %w", node, err)
		}
		if page.ResourceVersion == "" {
			return nil, fmt.Errorf("the pods of node %s cannot be read: the server answered with something else than a list of pods; is the address that of an API server?", node)
		}
		for i := range page.Items {
			if pod := &page.Items[i]; pod.Spec.NodeName == node {
				pods = append(pods, pod)
			}
		}
		if page.Continue == "" {
			return pods, nil
		}
		options.Continue = page.Continue
	}
}

// Namespaces are all that the watch holds, in no order; false where there is none or it
// was not read yet. They must not be changed.
func (l *Live) Namespaces() ([]*corev1.Namespace, bool) {
	if l.namespaces == nil || !l.namespaces.HasSynced() {
		return nil, false
	}
	objects := l.namespaces.GetStore().List()
	namespaces := make([]*corev1.Namespace, 0, len(objects))
	for _, object := range objects {
		if namespace, ok := object.(*corev1.Namespace); ok {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces, true
}

// Namespace reads one namespace: from the watch if there is one and it holds
// the namespace, else from the API server.
func (l *Live) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	if namespace, ok := cached[*corev1.Namespace](l.namespaces, name); ok {
		return namespace, nil
	}
	what := "namespace " + name
	if name == "" {
		return nil, errors.New("a namespace cannot be read without its name")
	}
	namespace, err := read[corev1.Namespace](ctx, l.client, func() *rest.Request {
		return l.client.core.Get().Resource("namespaces").Name(name)
	})
	if err != nil {
		return nil, unreadable(err, what, name)
	}
	if namespace.Name != name {
		return nil, fmt.Errorf("%s cannot be read: the server answered with something else; is the address that of an API server?", what)
	}
	return namespace, nil
}

// ServiceAccountPowers lists what makes a service account powerful, from the
// roles and bindings that are watched. An empty name is the account "default".
func (l *Live) ServiceAccountPowers(_ context.Context, namespace, name string) ([]string, error) {
	if l.rbac == nil {
		return nil, fmt.Errorf("the powers of service account %s/%s are not known: %w", namespace, name, ErrRBACNotWatched)
	}
	return l.rbac.powers(namespace, name)
}
