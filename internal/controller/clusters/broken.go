package clusters

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

var (
	_ request.Cluster    = broken{}
	_ request.RoleReader = broken{}
	_ request.Authorizer = broken{}
)

// broken stands for a cluster that there is no way to read: all that it is asked
// is an error.
type broken struct {
	id  string
	why string
}

func (b broken) err() error { return fmt.Errorf("cluster %s cannot be read: %s", b.id, b.why) }

// Pod fails.
func (b broken) Pod(context.Context, string, string) (*corev1.Pod, error) { return nil, b.err() }

// PodsOnNode fails.
func (b broken) PodsOnNode(context.Context, string) ([]*corev1.Pod, error) { return nil, b.err() }

// Namespace fails.
func (b broken) Namespace(context.Context, string) (*corev1.Namespace, error) { return nil, b.err() }

// ServiceAccount fails.
func (b broken) ServiceAccount(context.Context, string, string) (*corev1.ServiceAccount, error) {
	return nil, b.err()
}

// Object fails.
func (b broken) Object(context.Context, schema.GroupVersionKind, string, string) ([]byte, error) {
	return nil, b.err()
}

// ServiceAccountPowers fails.
func (b broken) ServiceAccountPowers(context.Context, string, string) ([]string, error) {
	return nil, b.err()
}

// AllowedByRBAC fails.
func (b broken) AllowedByRBAC(context.Context, request.User, request.Attributes) (bool, error) {
	return false, b.err()
}

// RolesOf fails.
func (b broken) RolesOf(context.Context, request.User, string) (roles, clusterRoles []string, err error) {
	return nil, nil, b.err()
}

// Allowed fails.
func (b broken) Allowed(context.Context, request.User, request.Attributes) (bool, error) {
	return false, b.err()
}
