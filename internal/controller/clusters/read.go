package clusters

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

var (
	_ request.Cluster    = (*link)(nil)
	_ request.RoleReader = (*link)(nil)
	_ request.Authorizer = (*link)(nil)
)

// Pod reads one pod.
func (l *link) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return through(ctx, l, func() (*corev1.Pod, error) { return l.reader.Pod(ctx, namespace, name) })
}

// PodsOnNode reads the pods that are bound to a node.
func (l *link) PodsOnNode(ctx context.Context, node string) ([]*corev1.Pod, error) {
	return through(ctx, l, func() ([]*corev1.Pod, error) { return l.reader.PodsOnNode(ctx, node) })
}

// Namespace reads one namespace.
func (l *link) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return through(ctx, l, func() (*corev1.Namespace, error) { return l.reader.Namespace(ctx, name) })
}

// ServiceAccount reads one service account.
func (l *link) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return through(ctx, l, func() (*corev1.ServiceAccount, error) { return l.reader.ServiceAccount(ctx, namespace, name) })
}

// Object reads one object of any kind.
func (l *link) Object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) ([]byte, error) {
	return through(ctx, l, func() ([]byte, error) { return l.reader.Object(ctx, kind, namespace, name) })
}

// ServiceAccountPowers lists what makes a service account powerful, by the roles
// and bindings of the cluster, which are watched from the first time on.
func (l *link) ServiceAccountPowers(ctx context.Context, namespace, name string) ([]string, error) {
	return through(ctx, l, func() ([]string, error) {
		roles, err := l.watchRoles(ctx)
		if err != nil {
			return nil, err
		}
		return roles.ServiceAccountPowers(ctx, namespace, name)
	})
}

// AllowedByRBAC reports what roles and bindings of the cluster allow.
func (l *link) AllowedByRBAC(ctx context.Context, user request.User, attributes request.Attributes) (bool, error) {
	return through(ctx, l, func() (bool, error) {
		watched, err := l.watchRoles(ctx)
		if err != nil {
			return false, err
		}
		return watched.AllowedByRBAC(ctx, user, attributes)
	})
}

// RolesOf lists the roles that the cluster binds to a user.
func (l *link) RolesOf(ctx context.Context, user request.User, namespace string) (roles, clusterRoles []string, err error) {
	type bound struct{ roles, clusterRoles []string }
	found, err := through(ctx, l, func() (bound, error) {
		watched, err := l.watchRoles(ctx)
		if err != nil {
			return bound{}, err
		}
		roles, clusterRoles, err := watched.RolesOf(ctx, user, namespace)
		return bound{roles, clusterRoles}, err
	})
	return found.roles, found.clusterRoles, err
}

// Allowed asks the cluster's API server what a user may do.
func (l *link) Allowed(ctx context.Context, user request.User, attributes request.Attributes) (bool, error) {
	return through(ctx, l, func() (bool, error) { return l.reviews.Allowed(ctx, user, attributes) })
}
