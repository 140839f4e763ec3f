package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/controller/clusters"
	"github.com/sallyport-io/sallyport/internal/engine/contexthost"
	"github.com/sallyport-io/sallyport/internal/engine/policy"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/files/compiled"
	"github.com/sallyport-io/sallyport/internal/files/load"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// policySource feeds the store with policies. There are two: files, and the API
// server.
type policySource interface {
	// Run keeps the store up to date until ctx ends. An error means that it
	// cannot be done.
	Run(ctx context.Context) error
	// Ready says what is still missing before requests can be judged; nil for
	// nothing.
	Ready() error
}

// fileSource takes policies, and the cluster that they are judged against, from
// files. All that the files hold is taken together, or nothing of it.
type fileSource struct {
	paths   []string
	store   *policy.Store
	cluster *currentFiles
	// given are the objects that policies may read where there is no cluster.
	given *contexthost.Files
	// clusters takes the ClusterConfigs.
	clusters *clusters.Files
	log      *slog.Logger
	watcher  *load.Watcher
	// read reads the files.
	read func(paths []string, in io.Reader) *load.Result
}

// fileOrigin is how the store calls what comes from files.
const fileOrigin = "files"

// newFileSource loads the files for the first time; given gets the objects in them
// that policies may read. An error holds all that is
// wrong with them.
func newFileSource(paths []string, store *policy.Store, given *contexthost.Files, further *clusters.Files, log *slog.Logger, clock clock.WithTicker) (*fileSource, error) {
	f := &fileSource{
		paths: paths, store: store, cluster: &currentFiles{}, given: given, clusters: further, log: log,
		// A change counts from before the first load.
		watcher: load.NewWatcher(paths, clock),
		read:    load.Policies,
	}
	if err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

// Ready is always nil: without a first load there is no fileSource.
func (f *fileSource) Ready() error { return nil }

// Run loads the files again after each change. What cannot be used is told, and
// the last good state stays in force.
func (f *fileSource) Run(ctx context.Context) error {
	f.watcher.Run(ctx, f.reload)
	return nil
}

func (f *fileSource) reload() {
	var problems stored.Problems
	if !errors.As(f.load(), &problems) {
		return
	}
	for _, p := range problems {
		f.log.Error("a change of the policies was refused; the last good ones stay in force", p.LogValues()...)
	}
}

// load reads all files and puts them in force if all of them are right. The
// error is a stored.Problems, and the store knows of it. A panic is one of them:
// whoever may change a file could end the guard by it.
func (f *fileSource) load() (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			problems := stored.Problems{{Origin: load.Joined(f.paths), Detail: fmt.Sprintf("cannot be compiled, which is a fault of Sallyport; please report it: %v", fault)}}
			f.log.Error("compiling the policies panicked", "panic", fault, "stack", string(debug.Stack()))
			f.store.Refuse(problems)
			err = problems
		}
	}()
	loaded := f.read(f.paths, nil)
	set, err := compiled.Of(loaded, f.paths, f.store.Options())
	var problems stored.Problems
	if errors.As(err, &problems) {
		f.store.Refuse(problems)
		return err
	}
	if problems := f.clusters.Check(loaded.Sources.Clusters); len(problems) > 0 {
		f.store.Refuse(problems)
		return problems
	}
	if problems := f.store.Replace(fileOrigin, loaded.Sources); len(problems) > 0 {
		return problems
	}
	f.cluster.current.Store(set.Cluster)
	f.given.Set(set.Given)
	f.clusters.Set(loaded.Sources.Clusters)
	counts := set.Set.Counts()
	f.log.Info("policies are in force", "paths", f.paths, "denyPolicies", counts.DenyPolicies,
		"clusterPolicies", counts.ClusterPolicies, "policies", counts.Policies, "clusterObjects", len(loaded.Objects))
	for _, ignored := range set.Ignored {
		f.log.Debug("an object was ignored", "origin", ignored.Origin, "object", ignored.Object)
	}
	return nil
}

// currentFiles is the cluster as the files last said. A request that runs while
// they change may see some of both; each read is of one state.
type currentFiles struct{ current atomic.Pointer[cluster.Files] }

var (
	_ request.Cluster    = (*currentFiles)(nil)
	_ request.Authorizer = (*currentFiles)(nil)
)

// Pod reads one pod.
func (c *currentFiles) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return c.current.Load().Pod(ctx, namespace, name)
}

// PodsOnNode reads the pods that are bound to a node.
func (c *currentFiles) PodsOnNode(ctx context.Context, node string) ([]*corev1.Pod, error) {
	return c.current.Load().PodsOnNode(ctx, node)
}

// Namespace reads one namespace.
func (c *currentFiles) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return c.current.Load().Namespace(ctx, name)
}

// ServiceAccount reads one service account.
func (c *currentFiles) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return c.current.Load().ServiceAccount(ctx, namespace, name)
}

// Object reads one object.
func (c *currentFiles) Object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) ([]byte, error) {
	return c.current.Load().Object(ctx, kind, namespace, name)
}

// ServiceAccountPowers lists what makes a service account powerful.
func (c *currentFiles) ServiceAccountPowers(ctx context.Context, namespace, name string) ([]string, error) {
	return c.current.Load().ServiceAccountPowers(ctx, namespace, name)
}

// RolesOf lists the roles that are bound to a user.
func (c *currentFiles) RolesOf(ctx context.Context, user request.User, namespace string) (roles, clusterRoles []string, err error) {
	return c.current.Load().RolesOf(ctx, user, namespace)
}

// AllowedByRBAC reports what the RBAC objects of the files allow.
func (c *currentFiles) AllowedByRBAC(ctx context.Context, user request.User, attributes request.Attributes) (bool, error) {
	return c.current.Load().AllowedByRBAC(ctx, user, attributes)
}

// Allowed reports whether the RBAC objects of the files let a user do something.
func (c *currentFiles) Allowed(ctx context.Context, user request.User, attributes request.Attributes) (bool, error) {
	return c.current.Load().Allowed(ctx, user, attributes)
}

// emptyFiles is a cluster of which nothing is known.
func emptyFiles() *currentFiles {
	c := &currentFiles{}
	files, err := cluster.NewFiles(nil)
	if err != nil {
		panic(err) // no object cannot be wrong
	}
	c.current.Store(files)
	return c
}
