package cluster

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// PerRequest wraps a cluster for the length of one request: what was read once,
// or could not be read, is remembered, so that all the policies that judge the
// request see the same state and agree. Those that ask for the same at the same
// time share one read. It is safe for concurrent use.
//
// A read that failed because its own caller gave up is not remembered, as it
// says nothing about the cluster; the next caller reads again. nil stays nil.
func PerRequest(c request.Cluster) request.Cluster {
	if c == nil {
		return nil
	}
	if already, ok := c.(*perRequest); ok {
		return already
	}
	return &perRequest{cluster: c}
}

type perRequest struct {
	cluster    request.Cluster
	pods       memory[objectName, *corev1.Pod]
	nodes      memory[string, []*corev1.Pod]
	namespaces memory[string, *corev1.Namespace]
	accounts   memory[objectName, *corev1.ServiceAccount]
	objects    memory[kindName, []byte]
	powers     memory[objectName, []string]
	kinds      memory[schema.GroupVersionResource, string]
}

// objectName names an object of a kind that is known from where it stands.
type objectName struct{ namespace, name string }

// kindName names an object of any kind.
type kindName struct {
	kind schema.GroupVersionKind
	objectName
}

// ServiceAccount reads one service account, once.
func (p *perRequest) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return p.accounts.get(ctx, objectName{namespace, name}, func() (*corev1.ServiceAccount, error) {
		return p.cluster.ServiceAccount(ctx, namespace, name)
	})
}

// Object reads one object, once.
func (p *perRequest) Object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) ([]byte, error) {
	return p.objects.get(ctx, kindName{kind, objectName{namespace, name}}, func() ([]byte, error) {
		return p.cluster.Object(ctx, kind, namespace, name)
	})
}

// Pod reads one pod, once.
func (p *perRequest) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return p.pods.get(ctx, objectName{namespace, name}, func() (*corev1.Pod, error) {
		return p.cluster.Pod(ctx, namespace, name)
	})
}

// PodsOnNode reads the pods of a node, once.
func (p *perRequest) PodsOnNode(ctx context.Context, node string) ([]*corev1.Pod, error) {
	return p.nodes.get(ctx, node, func() ([]*corev1.Pod, error) {
		return p.cluster.PodsOnNode(ctx, node)
	})
}

// Namespace reads one namespace, once.
func (p *perRequest) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return p.namespaces.get(ctx, name, func() (*corev1.Namespace, error) {
		return p.cluster.Namespace(ctx, name)
	})
}

// ServiceAccountPowers lists the powers of a service account, once.
func (p *perRequest) ServiceAccountPowers(ctx context.Context, namespace, name string) ([]string, error) {
	return p.powers.get(ctx, objectName{namespace, name}, func() ([]string, error) {
		return p.cluster.ServiceAccountPowers(ctx, namespace, name)
	})
}

// memory remembers reads. Its zero value remembers none.
type memory[K comparable, V any] struct {
	mu    sync.Mutex
	reads map[K]*remembered[V]
}

// remembered is a read that runs or has ended. The fields are set before done is
// closed, and not after.
type remembered[V any] struct {
	done      chan struct{}
	value     V
	err       error
	abandoned bool
}

// get gives what was read under key, and reads it if that was not done yet.
func (m *memory[K, V]) get(ctx context.Context, key K, read func() (V, error)) (V, error) {
	for {
		m.mu.Lock()
		r, ok := m.reads[key]
		if !ok {
			r = &remembered[V]{done: make(chan struct{})}
			if m.reads == nil {
				m.reads = map[K]*remembered[V]{}
			}
			m.reads[key] = r
		}
		m.mu.Unlock()
		if !ok {
			m.run(ctx, key, r, read)
			return r.value, r.err
		}
		select {
		case <-r.done:
		default:
			select {
			case <-r.done:
			case <-ctx.Done():
				var none V
				return none, ctx.Err()
			}
		}
		if !r.abandoned {
			return r.value, r.err
		}
	}
}

// errCrashed is what the others get who waited for a read that panicked.
var errCrashed = errors.New("the read of the cluster crashed")

// run reads, and wakes those who wait whatever happens.
func (m *memory[K, V]) run(ctx context.Context, key K, r *remembered[V], read func() (V, error)) {
	r.err = errCrashed
	defer func() {
		if r.err != nil && ctx.Err() != nil {
			r.abandoned = true
			m.mu.Lock()
			delete(m.reads, key)
			m.mu.Unlock()
		}
		close(r.done)
	}()
	r.value, r.err = read()
}
