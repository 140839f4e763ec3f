package check

import (
	"context"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/cli/judge"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// ManifestNamespaces is a cluster in which the namespaces and service accounts
// that are checked are there as well: they are made together with what needs
// them.
type ManifestNamespaces struct {
	*cluster.Files
	paths []string
	stdin func() io.Reader

	once     sync.Once
	found    map[string]*corev1.Namespace
	accounts map[[2]string]*corev1.ServiceAccount
	// namespace is that of objects that name none.
	namespace string
}

// Namespace reads a namespace of -p, else one of the checked manifests. These are
// searched when the first is asked for, not before: few policies ask.
func (m *ManifestNamespaces) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	namespace, err := m.Files.Namespace(ctx, name)
	if err == nil {
		return namespace, nil
	}
	m.once.Do(m.search)
	if namespace, ok := m.found[name]; ok {
		return namespace, nil
	}
	return nil, err
}

// ServiceAccount reads a service account of -p, else one of the checked
// manifests.
func (m *ManifestNamespaces) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	account, err := m.Files.ServiceAccount(ctx, namespace, name)
	if err == nil && len(account.Annotations) > 0 {
		return account, nil
	}
	m.once.Do(m.search)
	if found, ok := m.accounts[[2]string{namespace, name}]; ok {
		return found, nil
	}
	return account, err
}

func (m *ManifestNamespaces) search() {
	m.found, m.accounts = map[string]*corev1.Namespace{}, map[[2]string]*corev1.ServiceAccount{}
	for d := range load.Manifests(m.paths, m.stdin()) {
		if d != nil && d.GVK.Group == "" && d.GVK.Kind == "ServiceAccount" && d.Name != "" {
			account := &corev1.ServiceAccount{}
			if apijson.Unmarshal(d.Raw, account) == nil {
				m.accounts[[2]string{judge.NamespaceOf(d, m.namespace), d.Name}] = account
			}
			continue
		}
		if d == nil || d.GVK.Group != "" || d.GVK.Kind != "Namespace" || d.Name == "" {
			continue
		}
		namespace := &corev1.Namespace{}
		if apijson.Unmarshal(d.Raw, namespace) != nil {
			// Its own check says what is wrong with it.
			continue
		}
		if namespace.Labels == nil {
			namespace.Labels = map[string]string{}
		}
		namespace.Labels[corev1.LabelMetadataName] = d.Name
		m.found[d.Name] = namespace
	}
}
