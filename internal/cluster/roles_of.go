package cluster

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

var (
	_ request.RoleReader = (*Files)(nil)
	_ request.RoleReader = (*Live)(nil)
	_ request.RoleReader = (*Cached)(nil)
	_ request.RoleReader = (*perRequest)(nil)
)

// rolesOf lists the roles that are bound to a user, sorted, each once. A
// ClusterRole that a RoleBinding binds in some other namespace does not count:
// whoever may write bindings there could give it to themselves.
func (a *authorizer) rolesOf(user request.User, namespace string) (roles, clusterRoles []string) {
	for _, key := range subjectsOf(user) {
		for _, g := range a.grants[key] {
			switch {
			case g.role.APIGroup != "" && g.role.APIGroup != rbacv1.GroupName:
			case g.role.Kind == "Role" && g.namespace != "":
				roles = append(roles, g.namespace+":"+g.role.Name)
			case g.role.Kind == "ClusterRole" && (g.namespace == "" || g.namespace == namespace):
				clusterRoles = append(clusterRoles, g.role.Name)
			}
		}
	}
	slices.Sort(roles)
	slices.Sort(clusterRoles)
	return slices.Compact(roles), slices.Compact(clusterRoles)
}

// RolesOf lists the roles that the objects of the files bind to a user.
func (f *Files) RolesOf(_ context.Context, user request.User, namespace string) (roles, clusterRoles []string, err error) {
	roles, clusterRoles = f.authorizer.rolesOf(user, namespace)
	return roles, clusterRoles, nil
}

// RolesOf lists the roles that are bound to a user, from the roles and bindings
// that are watched.
func (l *Live) RolesOf(_ context.Context, user request.User, namespace string) (roles, clusterRoles []string, err error) {
	if l.rbac == nil {
		return nil, nil, fmt.Errorf("the roles of %s are not known: %w", user.Name, ErrRBACNotWatched)
	}
	if err := l.rbac.ready(); err != nil {
		return nil, nil, fmt.Errorf("the roles of %s are not known: %w", user.Name, err)
	}
	roles, clusterRoles = l.rbac.snapshot().authorizer.rolesOf(user, namespace)
	return roles, clusterRoles, nil
}

// RolesOf asks the cluster behind. A request has one user, and its decision asks
// once.
func (p *perRequest) RolesOf(ctx context.Context, user request.User, namespace string) (roles, clusterRoles []string, err error) {
	reader, ok := p.cluster.(request.RoleReader)
	if !ok {
		return nil, nil, fmt.Errorf("the roles of %s cannot be read here", user.Name)
	}
	return reader.RolesOf(ctx, user, namespace)
}
