package contexthost

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/wasm/inventory"
)

// Files are the objects of files in place of a cluster. They may be changed
// while they are read; each read is of one state.
type Files struct {
	current atomic.Pointer[inventory.Static]
}

// Set puts other objects in their place.
func (f *Files) Set(objects *inventory.Static) { f.current.Store(objects) }

// Read answers a read that passed the gate.
func (f *Files) Read(ctx context.Context, a *contextgate.Admitted) ([]byte, error) {
	now := f.current.Load()
	if now == nil {
		return nil, errors.New("no files have been read yet, and there is no cluster to ask")
	}
	return now.Read(ctx, a)
}

// NewForFiles makes the Host of what stands in files.
func NewForFiles(files *Files, o Options) *Host {
	answers := o.Answers
	answers.Objects = files
	return New(Guess{}, &answers, o)
}

// Guess finds resources where there is no cluster to ask: by rule, and by which of
// the kinds of Kubernetes have no namespace.
type Guess struct{}

// Resolve never fails for a kind that is written as one.
func (Guess) Resolve(ctx context.Context, apiVersion, kind string) (contextgate.Resource, error) {
	if known, ok := builtinKinds()[apiVersion+" "+kind]; ok {
		kind = known
	}
	resource, err := contextgate.Guess{}.Resolve(ctx, apiVersion, kind)
	if err == nil && match.ClusterScoped(schema.GroupKind{Group: resource.Group, Kind: resource.Kind}) {
		resource.Namespaced = false
	}
	return resource, err
}

// Granted reports whether any of the policies may read objects of a kind.
func Granted(policies []*contextgate.Policy, kind schema.GroupVersionKind) bool {
	apiVersion, name := kind.ToAPIVersionAndKind()
	resource, err := Guess{}.Resolve(context.Background(), apiVersion, name)
	return err == nil && slices.ContainsFunc(policies, func(p *contextgate.Policy) bool { return p.Covers(resource) })
}

// builtinKinds finds the kinds of Kubernetes by the plurals and singulars that stand
// for them: "v1 namespaces" is Namespace.
var builtinKinds = sync.OnceValue(func() map[string]string {
	kinds := map[string]string{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		plural, singular := meta.UnsafeGuessKindToResource(gvk)
		kinds[gvk.GroupVersion().String()+" "+plural.Resource] = gvk.Kind
		kinds[gvk.GroupVersion().String()+" "+singular.Resource] = gvk.Kind
	}
	return kinds
})
