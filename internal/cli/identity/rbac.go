package identity

import (
	"context"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/app/option"
	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/cli/command"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/files/load"
)

// rbacFlags name where roles and bindings are read from.
type rbacFlags struct {
	kubeconfig option.Live
	policies   []string
}

func (f *rbacFlags) add(cmd *cobra.Command) {
	f.kubeconfig.Add(cmd, "the cluster, and who asks")
	cmd.Flags().StringArrayVarP(&f.policies, "policies", "p", nil,
		"roles and bindings of files, and not of a cluster: a file, a directory, or - (repeatable)")
}

// read reads all roles and bindings, of the files that are named or else of the
// cluster.
func (f *rbacFlags) read(ctx context.Context, s command.Streams) (*cluster.RBAC, error) {
	if len(f.policies) > 0 {
		if f.kubeconfig.Given() {
			return nil, usage.Errorf("both -p and a cluster are named; roles and bindings are read from one of them")
		}
		loaded := load.Policies(f.policies, s.In)
		if len(loaded.Problems) > 0 {
			return nil, loaded.Problems
		}
		files, err := cluster.NewFiles(loaded.Objects)
		if err != nil {
			return nil, err
		}
		return files.RBAC(), nil
	}
	people := command.AsUser{Live: f.kubeconfig}
	c, _, err := people.Open(s)
	if err != nil {
		return nil, err
	}
	return readRBAC(ctx, c, "")
}

// readRBAC reads the roles and bindings that count in a namespace, or in all.
func readRBAC(ctx context.Context, c client.Reader, namespace string) (*cluster.RBAC, error) {
	var roles rbacv1.RoleList
	var clusterRoles rbacv1.ClusterRoleList
	var bindings rbacv1.RoleBindingList
	var clusterBindings rbacv1.ClusterRoleBindingList
	// Bindings first, so that no role is missed that was made before its binding.
	for _, list := range []client.ObjectList{&clusterBindings, &bindings, &clusterRoles, &roles} {
		var where []client.ListOption
		if list == client.ObjectList(&bindings) || list == client.ObjectList(&roles) {
			where = append(where, client.InNamespace(namespace))
		}
		if err := c.List(ctx, list, where...); err != nil {
			return nil, command.Plainly("the roles and bindings of the cluster cannot be listed", err)
		}
	}
	var objects []runtime.Object
	objects = appendAll(objects, roles.Items)
	objects = appendAll(objects, clusterRoles.Items)
	objects = appendAll(objects, bindings.Items)
	objects = appendAll(objects, clusterBindings.Items)
	return cluster.NewRBAC(objects), nil
}

// appendAll appends pointers to all items.
func appendAll[T any, P interface {
	*T
	runtime.Object
}](to []runtime.Object, items []T) []runtime.Object {
	for i := range items {
		to = append(to, P(&items[i]))
	}
	return to
}
