package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

var _ request.Authorizer = (*Files)(nil)

// superusers may do everything, whatever RBAC says.
const superusers = "system:masters"

// subjectKey names a subject of bindings.
type subjectKey struct{ kind, namespace, name string }

// authorizer answers by RBAC objects what a user may do, as the API server's own
// RBAC authorizer does. It is not changed once it is made.
type authorizer struct {
	roles  roleBook
	grants map[subjectKey][]grant
}

func newAuthorizer(objects rbacObjects, roles roleBook) *authorizer {
	a := &authorizer{roles: roles, grants: map[subjectKey][]grant{}}
	for _, b := range objects.clusterRoleBindings {
		a.bind(b.Subjects, grant{binding: b.Name, role: &b.RoleRef})
	}
	for _, b := range objects.roleBindings {
		a.bind(b.Subjects, grant{namespace: b.Namespace, binding: b.Name, role: &b.RoleRef})
	}
	return a
}

func (a *authorizer) bind(subjects []rbacv1.Subject, g grant) {
	for _, s := range subjects {
		key := subjectKey{kind: s.Kind, name: s.Name}
		if s.Kind == rbacv1.ServiceAccountKind {
			// Without a namespace it is the binding's; a ClusterRoleBinding has none
			// and then binds nobody.
			if key.namespace = cmp.Or(s.Namespace, g.namespace); key.namespace == "" {
				continue
			}
		}
		a.grants[key] = append(a.grants[key], g)
	}
}

// Allowed reports whether the RBAC objects of the files let the user do
// something. A binding to a role that stands in no file is an error, unless some
// other binding allows it anyway.
func (f *Files) Allowed(_ context.Context, user request.User, attributes request.Attributes) (bool, error) {
	return f.authorizer.allowed(user, attributes)
}

func (a *authorizer) allowed(user request.User, attributes request.Attributes) (bool, error) {
	if slices.Contains(user.Groups, superusers) {
		return true, nil
	}
	var unknown []string
	for _, key := range subjectsOf(user) {
		for _, g := range a.grants[key] {
			if g.namespace != "" && g.namespace != attributes.Namespace {
				continue
			}
			rules, _, missing := a.roles.rules(g)
			if missing != "" {
				unknown = append(unknown, missing)
			}
			if slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool { return covers(&rule, &attributes) }) {
				return true, nil
			}
		}
	}
	if len(unknown) > 0 {
		return false, fmt.Errorf("what %s may do is not known: %s; add a file that holds what is missing", user.Name, strings.Join(unknown, "; "))
	}
	return false, nil
}

func subjectsOf(user request.User) []subjectKey {
	keys := make([]subjectKey, 0, len(user.Groups)+2)
	keys = append(keys, subjectKey{kind: rbacv1.UserKind, name: user.Name})
	if rest, ok := strings.CutPrefix(user.Name, serviceAccountPrefix); ok {
		if namespace, name, ok := strings.Cut(rest, ":"); ok {
			keys = append(keys, subjectKey{rbacv1.ServiceAccountKind, namespace, name})
		}
	}
	for _, group := range user.Groups {
		keys = append(keys, subjectKey{kind: rbacv1.GroupKind, name: group})
	}
	return keys
}

// covers reports whether a rule of a role allows what the attributes say. The
// meaning of the star and of subresources is that of RBAC: pods/exec and
// */exec name a subresource, a bare star stands for every one.
func covers(rule *rbacv1.PolicyRule, attributes *request.Attributes) bool {
	resource := attributes.Resource
	if attributes.Subresource != "" {
		resource += "/" + attributes.Subresource
	}
	named := func(entries []string, name string) bool {
		return slices.Contains(entries, "*") || slices.Contains(entries, name)
	}
	return named(rule.Verbs, attributes.Verb) &&
		named(rule.APIGroups, attributes.Group) &&
		(named(rule.Resources, resource) || attributes.Subresource != "" && slices.Contains(rule.Resources, "*/"+attributes.Subresource)) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, attributes.Name))
}
