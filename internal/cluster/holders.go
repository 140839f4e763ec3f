package cluster

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RBAC are the roles and bindings of a cluster as an auditor reads them: who was
// given what, by which binding, and through which rule. It is not changed once
// it is made, and what it returns is shared and must not be changed.
type RBAC struct {
	everywhere []*Grant
	local      map[string][]*Grant
	// missing are those of everywhere.
	missing []MissingRole
}

// Grant is one binding: everyone it binds, and all that it gives to them.
type Grant struct {
	// Subjects in order, each once. Those that no request can come from, such as a
	// subject of an unknown kind, are left out.
	Subjects []Subject
	Binding  ObjectRef
	Role     ObjectRef
	Rules    []Rule
	// Missing says what of the role could not be found, in a sentence without its
	// end; empty where all of it was.
	Missing string
	// Unknown: what is missing may give something. In a live cluster it gives
	// nothing, as there all roles are known.
	Unknown bool
}

// NewRBAC makes an RBAC of all Roles, ClusterRoles, RoleBindings and
// ClusterRoleBindings of a live cluster. Objects of other kinds are passed over.
func NewRBAC(objects []runtime.Object) *RBAC {
	var sorted rbacObjects
	for _, object := range objects {
		switch object := object.(type) {
		case *rbacv1.Role:
			sorted.roles = append(sorted.roles, object)
		case *rbacv1.ClusterRole:
			sorted.clusterRoles = append(sorted.clusterRoles, object)
		case *rbacv1.RoleBinding:
			sorted.roleBindings = append(sorted.roleBindings, object)
		case *rbacv1.ClusterRoleBinding:
			sorted.clusterRoleBindings = append(sorted.clusterRoleBindings, object)
		}
	}
	return newRBAC(sorted, newRoleBook(sorted, false))
}

// RBAC are the roles and bindings of the files. The roles that every cluster has
// are among them, with those of their rules that reach the runtime of a pod.
func (f *Files) RBAC() *RBAC { return f.bindings() }

func newRBAC(objects rbacObjects, roles roleBook) *RBAC {
	r := &RBAC{local: map[string][]*Grant{}}
	book := &ruleBook{roles: roles, known: map[ObjectRef]roleRules{}}
	for _, b := range objects.clusterRoleBindings {
		g := grant{binding: b.Name, role: &b.RoleRef}
		r.everywhere = append(r.everywhere, book.grant(g, b.Subjects))
	}
	for _, b := range objects.roleBindings {
		g := grant{namespace: b.Namespace, binding: b.Name, role: &b.RoleRef}
		r.local[b.Namespace] = append(r.local[b.Namespace], book.grant(g, b.Subjects))
	}
	order := func(a, b *Grant) int { return a.Binding.compare(b.Binding) }
	slices.SortStableFunc(r.everywhere, order)
	for _, grants := range r.local {
		slices.SortStableFunc(grants, order)
	}
	r.missing = missingOf(r.everywhere)
	return r
}

// Grants are the bindings that count for what is in a namespace: those of the
// whole cluster, then its own, each by name. With no namespace they are those
// that count for what is in none.
func (r *RBAC) Grants(namespace string) []*Grant {
	if namespace == "" {
		return slices.Clip(r.everywhere)
	}
	return append(slices.Clip(r.everywhere), r.local[namespace]...)
}

// ruleBook finds the rules of roles, those of each role once.
type ruleBook struct {
	roles roleBook
	known map[ObjectRef]roleRules
}

type roleRules struct {
	rules   []Rule
	missing string
}

func (b *ruleBook) grant(g grant, subjects []rbacv1.Subject) *Grant {
	made := &Grant{Subjects: boundBy(subjects, g.namespace), Binding: ObjectRef{Kind: "ClusterRoleBinding", Name: g.binding}, Role: ObjectRef{Kind: g.role.Kind, Name: g.role.Name}}
	if g.namespace != "" {
		made.Binding.Kind, made.Binding.Namespace = "RoleBinding", g.namespace
	}
	if g.role.Kind == "Role" {
		made.Role.Namespace = g.namespace
	}
	found, ok := b.known[made.Role]
	if !ok {
		found = b.find(made.Role)
		b.known[made.Role] = found
	}
	made.Rules, made.Missing = found.rules, found.missing
	made.Unknown = made.Missing != "" && !b.roles.dangling
	return made
}

// find looks a role up.
func (b *ruleBook) find(role ObjectRef) roleRules {
	switch {
	case role.Kind == "ClusterRole" && b.roles.cluster[role.Name] != nil:
		var found roleRules
		var written []*rbacv1.ClusterRole
		written, found.missing = b.roles.parts(b.roles.cluster[role.Name], nil)
		for _, part := range written {
			of := ObjectRef{Kind: "ClusterRole", Name: part.Name}
			found.rules = b.add(found.rules, part.Rules, of, b.roles.builtin[roleName{name: part.Name}])
		}
		return found
	case role.Kind == "Role" && role.Namespace != "":
		key := roleName{role.Namespace, role.Name}
		if local := b.roles.local[key]; local != nil {
			return roleRules{rules: b.add(nil, local.Rules, role, b.roles.builtin[key])}
		}
	case role.Kind != "ClusterRole":
		// The API server refuses such a binding, and its authorizer makes nothing
		// of one.
		return roleRules{}
	}
	return roleRules{missing: "there is no " + role.String()}
}

func (b *ruleBook) add(to []Rule, rules []rbacv1.PolicyRule, of ObjectRef, builtin bool) []Rule {
	for i := range rules {
		r := Rule{Index: i, Of: of, PolicyRule: &rules[i]}
		if builtin {
			r.Index = -1
		}
		to = append(to, r)
	}
	return to
}

// boundBy gives the subjects of a binding that somebody can be.
func boundBy(subjects []rbacv1.Subject, namespace string) []Subject {
	bound := make([]Subject, 0, len(subjects))
	for _, s := range subjects {
		one := Subject{Kind: s.Kind, Name: s.Name}
		switch s.Kind {
		case rbacv1.UserKind, rbacv1.GroupKind:
		case rbacv1.ServiceAccountKind:
			if one.Namespace = cmp.Or(s.Namespace, namespace); one.Namespace == "" {
				continue
			}
		default:
			continue
		}
		bound = append(bound, one)
	}
	slices.SortFunc(bound, Subject.Compare)
	return slices.Compact(bound)
}
