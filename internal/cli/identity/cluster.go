package identity

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/engine/stored"
)

type identitySource = v1alpha1.IdentitySource

// readCluster reads a cluster: its sources, its roles and bindings, and all that
// carries identities. A kind that cannot be listed is a problem, and the others
// are listed all the same.
func (v *inventory) readCluster(ctx context.Context, c client.Client) error {
	var list v1alpha1.IdentitySourceList
	if err := c.List(ctx, &list); err != nil {
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			return fmt.Errorf("the cluster does not know the kind IdentitySource: its CustomResourceDefinition is not installed")
		}
		return command.Plainly("the IdentitySources of the cluster cannot be listed", err)
	}
	sources := make([]stored.Sourced[*identitySource], len(list.Items))
	for i := range list.Items {
		sources[i] = stored.Sourced[*identitySource]{Object: &list.Items[i], Origin: "the cluster"}
	}
	v.use(sources)
	if err := v.registerFrom(ctx, c); err != nil {
		return err
	}
	var err error
	if v.rbac, err = readRBAC(ctx, c, v.namespace); err != nil {
		return err
	}
	v.allAccounts = true
	if v.set.ReadsAccounts() {
		v.readAccounts(ctx, c)
	}
	kinds := v.pods.Kinds()
	for _, gk := range v.set.Kinds() {
		if !v.pods.Makes(gk) {
			kinds = append(kinds, gk)
		}
	}
	for _, gk := range kinds {
		mapping, err := c.RESTMapper().RESTMapping(gk)
		switch {
		case meta.IsNoMatchError(err):
			// The API server does not serve it, so that there are none.
		case err != nil:
			v.problem("what carries an identity among the objects of kind %s: %s", gk, err)
		default:
			v.readKind(ctx, c, mapping)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// registerFrom takes the PodKinds of the cluster, which may be older than that kind.
func (v *inventory) registerFrom(ctx context.Context, c client.Client) error {
	var list v1alpha1.PodKindList
	err := c.List(ctx, &list)
	if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v.problem("which further kinds make pods: %s", command.Plainly("the PodKinds of the cluster cannot be listed", err))
	}
	sources := make([]stored.Sourced[*v1alpha1.PodKind], len(list.Items))
	for i := range list.Items {
		sources[i] = stored.Sourced[*v1alpha1.PodKind]{Object: &list.Items[i], Origin: "the cluster"}
	}
	v.register(sources)
	return nil
}

func (v *inventory) readAccounts(ctx context.Context, c client.Client) {
	v.accounts = map[accountName]*corev1.ServiceAccount{}
	err := eachPage(ctx, c, v.namespace, func() client.ObjectList { return &corev1.ServiceAccountList{} }, func(list client.ObjectList) error {
		for _, account := range list.(*corev1.ServiceAccountList).Items {
			v.accounts[accountName{account.Namespace, account.Name}] = &account
		}
		return nil
	})
	if err != nil {
		v.problem("which identities the annotations of service accounts give: they cannot be listed: %s", err)
	}
}

// readKind reads the objects of one kind.
func (v *inventory) readKind(ctx context.Context, c client.Client, mapping *meta.RESTMapping) {
	namespace := v.namespace
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		if namespace != "" {
			return
		}
	}
	gvk := mapping.GroupVersionKind
	made := func() client.ObjectList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		return list
	}
	seen := map[types.UID]bool{}
	err := eachPage(ctx, c, namespace, made, func(list client.ObjectList) error {
		for _, item := range list.(*unstructured.UnstructuredList).Items {
			if uid := item.GetUID(); uid != "" {
				if seen[uid] {
					continue
				}
				seen[uid] = true
			}
			if err := v.item(ctx, gvk, &item); err != nil {
				v.problem("what %s %s/%s carries: %s", gvk.Kind, item.GetNamespace(), item.GetName(), err)
			}
		}
		return nil
	})
	if err != nil {
		v.problem("what carries an identity among %s: they cannot be listed: %s", mapping.Resource.GroupResource(), err)
	}
}

func (v *inventory) item(ctx context.Context, gvk schema.GroupVersionKind, item *unstructured.Unstructured) error {
	item.SetGroupVersionKind(gvk)
	raw, err := item.MarshalJSON()
	if err != nil {
		return err
	}
	object, err := v.pods.Decode(gvk, raw)
	if err != nil {
		return err
	}
	return v.object(ctx, object, item.GetNamespace())
}

// identitiesPage is how many objects are asked for at once.
const identitiesPage = 500

// eachPage lists page by page. A list that expires while it is read begins again
// once, so that an object may come twice.
func eachPage(ctx context.Context, c client.Reader, namespace string, made func() client.ObjectList, visit func(client.ObjectList) error) error {
	next, again := "", true
	for {
		list := made()
		err := c.List(ctx, list, client.InNamespace(namespace), client.Limit(identitiesPage), client.Continue(next))
		switch {
		case apierrors.IsResourceExpired(err) && again:
			next, again = "", false
			continue
		case err != nil:
			return err
		}
		if err := visit(list); err != nil {
			return err
		}
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}
