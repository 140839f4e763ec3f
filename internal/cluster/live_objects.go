package cluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// ServiceAccount reads one service account from the API server.
func (l *Live) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	what := "service account " + namespace + "/" + name
	if namespace == "" || name == "" {
		return nil, fmt.Errorf("%s cannot be read: a service account has a namespace and a name", what)
	}
	account, err := read[corev1.ServiceAccount](ctx, l.client, func() *rest.Request {
		return l.client.core.Get().Namespace(namespace).Resource("serviceaccounts").Name(name)
	})
	if err != nil {
		return nil, unreadable(err, what, name)
	}
	// An answer of another kind decodes into an account without annotations.
	if account.Name != name || account.Namespace != namespace {
		return nil, fmt.Errorf("%s cannot be read: the server answered with something else; is the address that of an API server?", what)
	}
	return account, nil
}

// Object reads one object of any kind in a namespace from the API server, as
// JSON.
func (l *Live) Object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) ([]byte, error) {
	what := fmt.Sprintf("%s %s/%s", kind.Kind, namespace, name)
	if kind.Kind == "" || kind.Version == "" || namespace == "" || name == "" {
		return nil, fmt.Errorf("%s cannot be read: a kind, a version, a namespace and a name are needed", what)
	}
	resource, err := l.resource(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", what, err)
	}
	body, err := l.client.readJSON(ctx, func() *rest.Request {
		return l.client.core.Get().AbsPath(root(kind.GroupVersion())...).Namespace(namespace).Resource(resource).Name(name)
	})
	if err != nil {
		return nil, unreadable(err, what, name)
	}
	return body, nil
}

// root is where a version of a group is served.
func root(version schema.GroupVersion) []string {
	if version.Group == "" {
		return []string{"api", version.Version}
	}
	return []string{"apis", version.Group, version.Version}
}

// resource finds the resource of a kind: by its name for kinds of Kubernetes, and
// for any other by what the API server says that it serves, which is asked once.
func (l *Live) resource(ctx context.Context, kind schema.GroupVersionKind) (string, error) {
	if scheme.Scheme.Recognizes(kind) {
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		return plural.Resource, nil
	}
	if known, ok := l.resources.Load(kind); ok {
		if name, ok := known.(string); ok {
			return name, nil
		}
	}
	all, err := l.served(ctx, kind.GroupVersion())
	if err != nil {
		return "", err
	}
	for i := range all {
		if r := &all[i]; r.Kind == kind.Kind && r.Namespaced && !strings.Contains(r.Name, "/") {
			l.resources.Store(kind, r.Name)
			return r.Name, nil
		}
	}
	return "", fmt.Errorf("the API server serves no kind %s of %s in namespaces", kind.Kind, kind.GroupVersion())
}
