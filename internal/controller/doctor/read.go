package doctor

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/controller/replicas"
	"github.com/sallyport-io/sallyport/internal/controller/webhooks"
)

// memo is something that several checks need, and that is read once.
type memo[T any] struct {
	done bool
	got  T
	err  error
}

func (m *memo[T]) get(read func() (T, error)) (T, error) {
	if !m.done {
		m.got, m.err = read()
		m.done = true
	}
	return m.got, m.err
}

type memos struct {
	hooks      memo[*webhooks.Installed]
	rights     memo[*cluster.RBAC]
	leases     memo[[]coordinationv1.Lease]
	deployment memo[*appsv1.Deployment]
}

// webhooks are those of the installation.
func (l *looking) webhooks(ctx context.Context) (*webhooks.Installed, error) {
	return l.hooks.get(func() (*webhooks.Installed, error) {
		return webhooks.Look(ctx, l.API, l.Discovery, l.Name, l.own(ctx))
	})
}

// own is the namespace that Sallyport runs in; empty where it runs in none, as there is
// no Deployment, so that the webhooks say which one they leave out.
func (l *looking) own(ctx context.Context) string {
	if d, err := l.workload(ctx); err == nil && d == nil {
		return ""
	}
	return l.Namespace
}

// workload is Sallyport's Deployment; nil where there is none.
func (l *looking) workload(ctx context.Context) (*appsv1.Deployment, error) {
	return l.deployment.get(func() (*appsv1.Deployment, error) {
		d, err := l.API.AppsV1().Deployments(l.Namespace).Get(ctx, "sallyport", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return d, err
	})
}

// pageSize is how many objects are asked for at once.
const pageSize = 500

// pages lists page by page. One that expires begins again, once.
func pages[L interface{ GetContinue() string }](ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error), take func(L)) error {
	next, again := "", true
	for {
		page, err := list(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		switch {
		case apierrors.IsResourceExpired(err) && again:
			next, again = "", false
			continue
		case err != nil:
			return err
		}
		take(page)
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

// rbac are the roles and bindings of the cluster.
func (l *looking) rbac(ctx context.Context) (*cluster.RBAC, error) {
	return l.rights.get(func() (*cluster.RBAC, error) {
		api := l.API.RbacV1()
		var objects []runtime.Object
		// Bindings first, so that no role is missed that was made before its binding.
		for _, read := range []func() error{
			func() error {
				return pages(ctx, api.ClusterRoleBindings().List, func(p *rbacv1.ClusterRoleBindingList) { objects = pointers(objects, p.Items) })
			},
			func() error {
				return pages(ctx, api.RoleBindings("").List, func(p *rbacv1.RoleBindingList) { objects = pointers(objects, p.Items) })
			},
			func() error {
				return pages(ctx, api.ClusterRoles().List, func(p *rbacv1.ClusterRoleList) { objects = pointers(objects, p.Items) })
			},
			func() error {
				return pages(ctx, api.Roles("").List, func(p *rbacv1.RoleList) { objects = pointers(objects, p.Items) })
			},
		} {
			if err := read(); err != nil {
				return nil, fmt.Errorf("roles and bindings cannot be listed: %w", err)
			}
		}
		return cluster.NewRBAC(objects), nil
	})
}

// pointers appends pointers to all items.
func pointers[T any, P interface {
	*T
	runtime.Object
}](to []runtime.Object, items []T) []runtime.Object {
	for i := range items {
		to = append(to, P(&items[i]))
	}
	return to
}

// allLeases are those of the namespace of Sallyport; where no replica is among them,
// those of kube-system, in which one keeps them that runs outside of a pod.
func (l *looking) allLeases(ctx context.Context) ([]coordinationv1.Lease, error) {
	return l.leases.get(func() ([]coordinationv1.Lease, error) {
		for _, namespace := range []string{l.Namespace, metav1.NamespaceSystem} {
			found, err := l.API.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("the Leases in %s cannot be listed: %w", namespace, err)
			}
			if slices.ContainsFunc(found.Items, func(lease coordinationv1.Lease) bool { return lease.Labels[replicas.LabelOf] == l.Name }) {
				return found.Items, nil
			}
		}
		return nil, nil
	})
}

// replicas are those of the installation that were heard of in time.
func (l *looking) replicas(ctx context.Context) ([]*replicas.Heard, error) {
	leases, err := l.allLeases(ctx)
	if err != nil {
		return nil, err
	}
	var heard []*replicas.Heard
	for i := range leases {
		if h, is := replicas.Hear(&leases[i]); is && h.Installation == l.Name && l.now().Before(h.Until) {
			heard = append(heard, h)
		}
	}
	return heard, nil
}
