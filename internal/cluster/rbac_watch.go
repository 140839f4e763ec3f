package cluster

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// watchedRBAC is the index of roles and bindings that are watched. A change
// makes it stale, and the next question makes it again, so that a thousand
// changes at once cost one index and not a thousand.
type watchedRBAC struct {
	roles, clusterRoles, roleBindings, clusterRoleBindings cache.SharedIndexInformer

	changes atomic.Uint64
	current atomic.Pointer[rbacSnapshot]
	making  sync.Mutex
}

// rbacSnapshot is an index with the number of changes that it has seen.
type rbacSnapshot struct {
	index      *rbacIndex
	authorizer *authorizer
	changes    uint64
}

// newWatchedRBAC adds what it needs to watches.
func newWatchedRBAC(w *watches, from cache.Getter) (*watchedRBAC, error) {
	r := &watchedRBAC{}
	changed := func() { r.changes.Add(1) }
	for _, watched := range []struct {
		into     *cache.SharedIndexInformer
		resource string
		example  runtime.Object
	}{
		{&r.roles, "roles", &rbacv1.Role{}},
		{&r.clusterRoles, "clusterroles", &rbacv1.ClusterRole{}},
		{&r.roleBindings, "rolebindings", &rbacv1.RoleBinding{}},
		{&r.clusterRoleBindings, "clusterrolebindings", &rbacv1.ClusterRoleBinding{}},
	} {
		informer, err := w.add(from, watched.resource, watched.example, nil)
		if err != nil {
			return nil, err
		}
		// Handlers run after the cache holds the change.
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			UpdateFunc: func(any, any) { changed() },
			DeleteFunc: func(any) { changed() },
		}); err != nil {
			return nil, fmt.Errorf("changes of %s cannot be followed: %w", watched.resource, err)
		}
		*watched.into = informer
	}
	return r, nil
}

// powers lists the powers of a service account. Until all roles and bindings
// have been read once, it is an error.
func (r *watchedRBAC) powers(namespace, name string) ([]string, error) {
	if err := r.ready(); err != nil {
		return nil, fmt.Errorf("the powers of service account %s/%s are not known: %w", namespace, name, err)
	}
	return r.snapshot().index.powers(namespace, name).powers, nil
}

var errRBACUnread = errors.New("the roles and bindings of the cluster have not been read yet")

// ready reports whether all roles and bindings have been read once.
func (r *watchedRBAC) ready() error {
	for _, informer := range []cache.SharedIndexInformer{r.roles, r.clusterRoles, r.roleBindings, r.clusterRoleBindings} {
		if !informer.HasSynced() {
			return errRBACUnread
		}
	}
	return nil
}

// snapshot gives the index of what is in the caches now.
func (r *watchedRBAC) snapshot() *rbacSnapshot {
	if s := r.current.Load(); s != nil && s.changes == r.changes.Load() {
		return s
	}
	r.making.Lock()
	defer r.making.Unlock()
	// Read before the caches: a change in between makes it stale again.
	changes := r.changes.Load()
	if s := r.current.Load(); s != nil && s.changes == changes {
		return s
	}
	objects := rbacObjects{
		roles:               stored[*rbacv1.Role](r.roles),
		clusterRoles:        stored[*rbacv1.ClusterRole](r.clusterRoles),
		roleBindings:        stored[*rbacv1.RoleBinding](r.roleBindings),
		clusterRoleBindings: stored[*rbacv1.ClusterRoleBinding](r.clusterRoleBindings),
	}
	roles := newRoleBook(objects, false)
	s := &rbacSnapshot{index: newRBACIndex(objects, roles), authorizer: newAuthorizer(objects, roles), changes: changes}
	r.current.Store(s)
	return s
}

// stored gives all objects of a cache.
func stored[T any](informer cache.SharedIndexInformer) []T {
	all := informer.GetStore().List()
	objects := make([]T, 0, len(all))
	for _, object := range all {
		if typed, ok := object.(T); ok {
			objects = append(objects, typed)
		}
	}
	return objects
}
