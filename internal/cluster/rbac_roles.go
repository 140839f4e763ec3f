package cluster

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// roleBook finds the rules of a role.
type roleBook struct {
	local   map[roleName]*rbacv1.Role
	cluster map[string]*rbacv1.ClusterRole
	// dangling says that a role that a binding refers to and that is not in the
	// book is not a role, as in a live cluster, where all roles are known and such a
	// binding gives nothing. Otherwise what it gives is unknown.
	dangling bool
	// builtin are the roles of which only what counts is in the book.
	builtin map[roleName]bool
}

// roleName names a Role, or a ClusterRole if it has no namespace.
type roleName struct{ namespace, name string }

// newRoleBook makes the book of the roles of a live cluster, or, with builtin,
// of files, which need not repeat the roles that every cluster has.
func newRoleBook(objects rbacObjects, builtin bool) roleBook {
	book := roleBook{
		local:    make(map[roleName]*rbacv1.Role, len(objects.roles)),
		cluster:  make(map[string]*rbacv1.ClusterRole, len(objects.clusterRoles)),
		dangling: !builtin,
		builtin:  map[roleName]bool{},
	}
	if builtin {
		for _, role := range builtinRoles() {
			book.local[roleName{role.Namespace, role.Name}] = role
			book.builtin[roleName{role.Namespace, role.Name}] = true
		}
		for _, role := range builtinClusterRoles() {
			book.cluster[role.Name] = role
			book.builtin[roleName{name: role.Name}] = true
		}
	}
	for _, role := range objects.roles {
		book.local[roleName{role.Namespace, role.Name}] = role
		delete(book.builtin, roleName{role.Namespace, role.Name})
	}
	for _, role := range objects.clusterRoles {
		book.cluster[role.Name] = role
		delete(book.builtin, roleName{name: role.Name})
	}
	return book
}

// rules gives the rules that a grant refers to and the name of their role.
// unknown says what stands nowhere, if anything does not.
func (b *roleBook) rules(g grant) (rules []rbacv1.PolicyRule, name, unknown string) {
	switch {
	case g.role.Kind == "ClusterRole":
		name = "ClusterRole " + g.role.Name
		if role := b.cluster[g.role.Name]; role != nil {
			rules, unknown = b.clusterRules(role)
			return rules, name, unknown
		}
	case g.role.Kind == "Role" && g.namespace != "":
		name = "Role " + g.namespace + "/" + g.role.Name
		if role := b.local[roleName{g.namespace, g.role.Name}]; role != nil {
			return role.Rules, name, ""
		}
	default:
		// A ClusterRoleBinding to a Role, or to some other kind, gives nothing.
		return nil, g.role.Kind + " " + g.role.Name, ""
	}
	if b.dangling {
		return nil, name, ""
	}
	return nil, name, "there is no " + name
}

// clusterRules gives the rules of a ClusterRole.
func (b *roleBook) clusterRules(role *rbacv1.ClusterRole) (rules []rbacv1.PolicyRule, unknown string) {
	written, unknown := b.parts(role, nil)
	if len(written) == 1 {
		return written[0].Rules, unknown
	}
	for _, part := range written {
		rules = append(rules, part.Rules...)
	}
	return rules, unknown
}

// parts gives the ClusterRoles in which the rules of a ClusterRole are written:
// itself, as a rule. The rules of an aggregated one are filled in by a
// controller; where that has not happened, as in files, they are those of the
// roles that it selects. Roles that are in seen are left out, so that roles
// which select one another are looked at once each.
func (b *roleBook) parts(role *rbacv1.ClusterRole, seen map[string]bool) (written []*rbacv1.ClusterRole, unknown string) {
	if role.AggregationRule == nil || len(role.Rules) > 0 {
		return []*rbacv1.ClusterRole{role}, ""
	}
	if seen == nil {
		seen = map[string]bool{role.Name: true}
	}
	selected := map[string]bool{}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, "ClusterRole " + role.Name + " has a selector that does not parse"
		}
		for name, other := range b.cluster {
			if selector.Matches(labels.Set(other.Labels)) {
				selected[name] = true
			}
		}
	}
	var unknowns []string
	for _, name := range slices.Sorted(maps.Keys(selected)) {
		if seen[name] {
			continue
		}
		seen[name] = true
		more, missing := b.parts(b.cluster[name], seen)
		written = append(written, more...)
		if missing != "" {
			unknowns = append(unknowns, missing)
		}
	}
	return written, strings.Join(unknowns, "; ")
}
