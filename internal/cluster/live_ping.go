package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Ping reads the namespace that every cluster has, from the API server and never
// from a watch: a cluster that answers it can be judged by. That there is no such
// namespace is an answer too.
func (l *Live) Ping(ctx context.Context) error {
	namespace, err := read[corev1.Namespace](ctx, l.client, func() *rest.Request {
		return l.client.core.Get().Resource("namespaces").Name(metav1.NamespaceSystem)
	})
	switch {
	case err != nil && notThere(err, metav1.NamespaceSystem):
		return nil
	case err != nil:
		return fmt.Errorf("the API server could not be asked for a namespace: %w", err)
	case namespace.Name != metav1.NamespaceSystem:
		return errors.New("the server answered with something else than a namespace; is the address that of an API server?")
	}
	return nil
}
