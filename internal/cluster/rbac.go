package cluster

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
)

// The groups that every service account is in.
const (
	groupAuthenticated   = "system:authenticated"
	groupServiceAccounts = "system:serviceaccounts"
	serviceAccountPrefix = "system:serviceaccount:"
)

// rbacObjects are the roles and bindings of a cluster. None is nil.
type rbacObjects struct {
	roles               []*rbacv1.Role
	clusterRoles        []*rbacv1.ClusterRole
	roleBindings        []*rbacv1.RoleBinding
	clusterRoleBindings []*rbacv1.ClusterRoleBinding
}

// rbacIndex answers which powers a service account has. It is not changed once
// it is made. What an answer costs depends on the bindings of that account and
// of the groups that it is in, and on no other; it is worked out once a subject.
type rbacIndex struct {
	roles    roleBook
	accounts map[serviceAccount]*boundSubject
	groups   map[string]*boundSubject
}

// serviceAccount names a service account.
type serviceAccount struct{ namespace, name string }

// boundSubject is a subject of bindings.
type boundSubject struct {
	grants []grant
	once   sync.Once
	found  powersFound
}

// powersFound is what the bindings of a subject come to.
type powersFound struct {
	powers []string
	// unknown says what could not be looked up, a sentence each.
	unknown []string
}

// grant is a binding: a role that holds in a namespace, or everywhere if
// namespace is empty.
type grant struct {
	namespace, binding string
	role               *rbacv1.RoleRef
}

// newRBACIndex sorts the bindings by their subjects. Subjects that no service
// account can be are left out.
func newRBACIndex(objects rbacObjects, roles roleBook) *rbacIndex {
	x := &rbacIndex{
		roles:    roles,
		accounts: make(map[serviceAccount]*boundSubject, len(objects.roleBindings)+len(objects.clusterRoleBindings)),
		groups:   map[string]*boundSubject{},
	}
	for _, b := range objects.clusterRoleBindings {
		x.bind(b.Subjects, grant{binding: b.Name, role: &b.RoleRef})
	}
	for _, b := range objects.roleBindings {
		x.bind(b.Subjects, grant{namespace: b.Namespace, binding: b.Name, role: &b.RoleRef})
	}
	return x
}

// bind notes a grant under each of the subjects. A service account can be named
// by its own kind, by its user name and by its groups; the API server looks only
// at kind and name, and so does this.
func (x *rbacIndex) bind(subjects []rbacv1.Subject, g grant) {
	for i := range subjects {
		switch s := &subjects[i]; s.Kind {
		case rbacv1.ServiceAccountKind:
			// Without a namespace it is the binding's; a ClusterRoleBinding has none
			// and then binds nobody.
			if namespace := cmp.Or(s.Namespace, g.namespace); namespace != "" {
				add(x.accounts, serviceAccount{namespace, s.Name}, g)
			}
		case rbacv1.UserKind:
			if rest, ok := strings.CutPrefix(s.Name, serviceAccountPrefix); ok {
				if namespace, name, ok := strings.Cut(rest, ":"); ok {
					add(x.accounts, serviceAccount{namespace, name}, g)
				}
			}
		case rbacv1.GroupKind:
			if s.Name == groupAuthenticated || s.Name == groupServiceAccounts || strings.HasPrefix(s.Name, groupServiceAccounts+":") {
				add(x.groups, s.Name, g)
			}
		}
	}
}

func add[K comparable](to map[K]*boundSubject, key K, g grant) {
	subject := to[key]
	if subject == nil {
		subject = &boundSubject{}
		to[key] = subject
	}
	subject.grants = append(subject.grants, g)
}

// powers lists the powers of a service account, one sentence each: its own
// first, then those of its groups, the narrower group before the wider; within
// each, those that hold everywhere before those of a namespace, by the name of
// the binding. An empty name is the account "default", as in a pod.
func (x *rbacIndex) powers(namespace, name string) powersFound {
	if name == "" {
		name = "default"
	}
	found := x.of(x.accounts[serviceAccount{namespace, name}], "")
	for _, group := range [...]string{groupServiceAccounts + ":" + namespace, groupServiceAccounts, groupAuthenticated} {
		more := x.of(x.groups[group], group)
		// Clipped, so that what is kept for a subject is never written to.
		found.powers = append(slices.Clip(found.powers), more.powers...)
		found.unknown = append(slices.Clip(found.unknown), more.unknown...)
	}
	return found
}

// of gives the powers of one subject; group names it if it is one.
func (x *rbacIndex) of(subject *boundSubject, group string) powersFound {
	if subject == nil {
		return powersFound{}
	}
	subject.once.Do(func() {
		slices.SortStableFunc(subject.grants, func(a, b grant) int {
			return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.binding, b.binding))
		})
		for _, g := range subject.grants {
			x.describe(&subject.found, g, group)
		}
	})
	return subject.found
}

// describe adds to found what one grant gives.
func (x *rbacIndex) describe(found *powersFound, g grant, group string) {
	binding := "ClusterRoleBinding " + g.binding
	if g.namespace != "" {
		binding = "RoleBinding " + g.namespace + "/" + g.binding
	}
	rules, role, unknown := x.roles.rules(g)
	if unknown != "" {
		found.unknown = append(found.unknown, unknown+", which "+binding+" refers to")
	}
	source := " (" + binding + " -> " + role
	if group != "" {
		source += ", through group " + group
	}
	source += ")"
	for _, power := range powersOf(rules, g.namespace) {
		if sentence := power + source; !slices.Contains(found.powers, sentence) {
			found.powers = append(found.powers, sentence)
		}
	}
}
