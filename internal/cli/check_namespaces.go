package cli

import (
	"context"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/load"
	"github.com/sallyport-io/sallyport/internal/wire"
)

// manifestNamespaces is a cluster in which the namespaces that are checked are
// there as well: they are made together with what is in them.
type manifestNamespaces struct {
	*cluster.Files
	paths []string
	stdin func() io.Reader

	once  sync.Once
	found map[string]*corev1.Namespace
}

// Namespace reads a namespace of -p, else one of the checked manifests. These are
// searched when the first is asked for, not before: few policies ask.
func (m *manifestNamespaces) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
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

func (m *manifestNamespaces) search() {
	m.found = map[string]*corev1.Namespace{}
	for d := range load.Manifests(m.paths, m.stdin()) {
		if d == nil || d.GVK.Group != "" || d.GVK.Kind != "Namespace" || d.Name == "" {
			continue
		}
		namespace := &corev1.Namespace{}
		if wire.Unmarshal(d.Raw, namespace) != nil {
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
