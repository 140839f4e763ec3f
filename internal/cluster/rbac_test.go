package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func role(namespace, name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules}
}

func everywhere(name, kind, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: kind, Name: role}, Subjects: subjects}
}

func local(namespace, name, kind, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: rbacv1.RoleRef{Kind: kind, Name: role}, Subjects: subjects}
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: name}
}

func group(name string) rbacv1.Subject { return rbacv1.Subject{Kind: "Group", Name: name} }

// TestSubjects shows through which subjects the account shop/web is reached.
func TestSubjects(t *testing.T) {
	secrets := clusterRole("r", rule("", "secrets", "get"))
	const plain = "may get secrets in every namespace (ClusterRoleBinding b -> ClusterRole r)"
	through := func(group string) string {
		return "may get secrets in every namespace (ClusterRoleBinding b -> ClusterRole r, through group " + group + ")"
	}
	tests := []struct {
		name    string
		subject rbacv1.Subject
		want    string
	}{
		{"its own", account("shop", "web"), plain},
		{"its user name", rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:shop:web"}, plain},
		{"whatever its API group", rbacv1.Subject{Kind: "ServiceAccount", APIGroup: "x", Namespace: "shop", Name: "web"}, plain},
		{"all accounts", group("system:serviceaccounts"), through("system:serviceaccounts")},
		{"all of the namespace", group("system:serviceaccounts:shop"), through("system:serviceaccounts:shop")},
		{"everybody", group("system:authenticated"), through("system:authenticated")},
		{"another name", account("shop", "api"), ""},
		{"another namespace", account("bank", "web"), ""},
		{"another namespace's group", group("system:serviceaccounts:bank"), ""},
		{"nobody", group("system:unauthenticated"), ""},
		{"masters", group("system:masters"), ""},
		{"a kind in the wrong case", rbacv1.Subject{Kind: "serviceaccount", Namespace: "shop", Name: "web"}, ""},
		{"no namespace, cluster-wide", account("", "web"), ""},
		{"a user of the same name", rbacv1.Subject{Kind: "User", Name: "web"}, ""},
		{"half a user name", rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:shop"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			objects := rbacObjects{clusterRoles: []*rbacv1.ClusterRole{secrets}, clusterRoleBindings: []*rbacv1.ClusterRoleBinding{everywhere("b", "ClusterRole", "r", test.subject)}}
			got := newRBACIndex(objects, newRoleBook(objects, false)).powers("shop", "web")
			if diff := cmp.Diff(test.want, strings.Join(got.powers, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBindings(t *testing.T) {
	web := account("shop", "web")
	secrets := rule("", "secrets", "get")
	nodes := rule("", "nodes", "patch")
	tests := []struct {
		name    string
		objects rbacObjects
		want    []string
		unknown []string
	}{
		{"a RoleBinding to a Role", rbacObjects{
			roles:        []*rbacv1.Role{role("shop", "r", secrets), role("bank", "r", rule("", "pods/exec", "get"))},
			roleBindings: []*rbacv1.RoleBinding{local("shop", "b", "Role", "r", account("", "web"))},
		}, []string{"may get secrets in namespace shop (RoleBinding shop/b -> Role shop/r)"}, nil},
		{"a RoleBinding of another namespace", rbacObjects{
			roles:        []*rbacv1.Role{role("bank", "r", secrets)},
			roleBindings: []*rbacv1.RoleBinding{local("bank", "b", "Role", "r", web)},
		}, []string{"may get secrets in namespace bank (RoleBinding bank/b -> Role bank/r)"}, nil},
		{"a RoleBinding to a ClusterRole holds in its namespace, and not for nodes", rbacObjects{
			clusterRoles: []*rbacv1.ClusterRole{clusterRole("r", secrets, nodes)},
			roleBindings: []*rbacv1.RoleBinding{local("shop", "b", "ClusterRole", "r", web)},
		}, []string{"may get secrets in namespace shop (RoleBinding shop/b -> ClusterRole r)"}, nil},
		{"a ClusterRoleBinding to a Role gives nothing", rbacObjects{
			roles:               []*rbacv1.Role{role("", "r", secrets), role("shop", "r", secrets)},
			clusterRoleBindings: []*rbacv1.ClusterRoleBinding{everywhere("b", "Role", "r", web)},
		}, nil, nil},
		{"a kind in the wrong case gives nothing", rbacObjects{
			clusterRoles:        []*rbacv1.ClusterRole{clusterRole("r", secrets)},
			clusterRoleBindings: []*rbacv1.ClusterRoleBinding{everywhere("b", "clusterrole", "r", web)},
		}, nil, nil},
		{"the widest first, then by name, and each once", rbacObjects{
			clusterRoles: []*rbacv1.ClusterRole{clusterRole("r", secrets)},
			roleBindings: []*rbacv1.RoleBinding{local("b", "b", "ClusterRole", "r", web), local("a", "b", "ClusterRole", "r", web)},
			clusterRoleBindings: []*rbacv1.ClusterRoleBinding{
				everywhere("z", "ClusterRole", "r", web, web), everywhere("a", "ClusterRole", "r", group("system:authenticated"), web),
			},
		}, []string{
			"may get secrets in every namespace (ClusterRoleBinding a -> ClusterRole r)",
			"may get secrets in every namespace (ClusterRoleBinding z -> ClusterRole r)",
			"may get secrets in namespace a (RoleBinding a/b -> ClusterRole r)",
			"may get secrets in namespace b (RoleBinding b/b -> ClusterRole r)",
			"may get secrets in every namespace (ClusterRoleBinding a -> ClusterRole r, through group system:authenticated)",
		}, nil},
		{"roles that stand nowhere", rbacObjects{
			roleBindings:        []*rbacv1.RoleBinding{local("shop", "b", "Role", "gone", web)},
			clusterRoleBindings: []*rbacv1.ClusterRoleBinding{everywhere("b", "ClusterRole", "gone", web)},
		}, nil, []string{
			"there is no ClusterRole gone, which ClusterRoleBinding b refers to",
			"there is no Role shop/gone, which RoleBinding shop/b refers to",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			index := newRBACIndex(test.objects, newRoleBook(test.objects, true))
			for range 2 {
				got := index.powers("shop", "web")
				if diff := cmp.Diff(test.want, got.powers); diff != "" && len(test.want)+len(got.powers) > 0 {
					t.Error(diff)
				}
				if diff := cmp.Diff(test.unknown, got.unknown); diff != "" && len(test.unknown)+len(got.unknown) > 0 {
					t.Error(diff)
				}
			}
		})
	}
}

func TestAggregation(t *testing.T) {
	selecting := func(name, from string, labels map[string]string) *rbacv1.ClusterRole {
		r := clusterRole(name)
		r.Labels = labels
		r.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{from: "true"}}}}
		return r
	}
	labelled := func(label string, r *rbacv1.ClusterRole) *rbacv1.ClusterRole {
		r.Labels = map[string]string{label: "true"}
		return r
	}
	filled := selecting("sum", "x", nil)
	filled.Rules = []rbacv1.PolicyRule{rule("", "pods/exec", "get")}
	unparsable := selecting("sum", "x", nil)
	unparsable.AggregationRule.ClusterRoleSelectors[0] = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Near"}}}
	tests := []struct {
		name, role string
		roles      []*rbacv1.ClusterRole
		want       string
		unknown    string
	}{
		{"from labels", "sum", []*rbacv1.ClusterRole{selecting("sum", "x", nil), labelled("x", clusterRole("part", rule("", "secrets", "get")))}, "may get secrets in every namespace", ""},
		{"through another", "sum", []*rbacv1.ClusterRole{
			selecting("sum", "x", nil), selecting("middle", "y", map[string]string{"x": "true"}), labelled("y", clusterRole("part", rule("", "secrets", "get"))),
		}, "may get secrets in every namespace", ""},
		{"in a circle", "sum", []*rbacv1.ClusterRole{selecting("sum", "x", map[string]string{"y": "true"}), selecting("other", "y", map[string]string{"x": "true"})}, "", ""},
		{"rules that are there count", "sum", []*rbacv1.ClusterRole{filled, labelled("x", clusterRole("part", rule("", "secrets", "get")))}, "may exec into pods in every namespace", ""},
		{"a selector that does not parse", "sum", []*rbacv1.ClusterRole{unparsable}, "", "selector that does not parse"},
		{"added to a built-in role", "view", []*rbacv1.ClusterRole{labelled("rbac.authorization.k8s.io/aggregate-to-view", clusterRole("part", rule("", "secrets", "get")))}, "may get secrets in every namespace", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := powersOfRole(test.role, test.roles...)
			if strings.Join(got.powers, "\n") != test.want || !strings.Contains(strings.Join(got.unknown, "\n"), test.unknown) {
				t.Errorf("got %+v, want %q", got, test.want)
			}
		})
	}
}

// TestAggregationIsCheap: roles that all select one another are looked at once
// each, whatever the number of ways through them.
func TestAggregationIsCheap(t *testing.T) {
	var roles []*rbacv1.ClusterRole
	for i := range 200 {
		r := clusterRole(fmt.Sprint("r", i))
		r.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{}}}
		roles = append(roles, r)
	}
	roles = append(roles, clusterRole("z", rule("", "secrets", "get")))
	if got := powersOfRole("r0", roles...); !slices.Contains(got.powers, "may do everything in every namespace") {
		t.Errorf("the empty selector takes in cluster-admin as well, got %v", got)
	}
}

// powersOfRole gives what a binding to a role gives everywhere, without the
// words that say where it comes from.
func powersOfRole(name string, roles ...*rbacv1.ClusterRole) powersFound {
	objects := rbacObjects{clusterRoles: roles, clusterRoleBindings: []*rbacv1.ClusterRoleBinding{everywhere("b", "ClusterRole", name, account("shop", "web"))}}
	found := newRBACIndex(objects, newRoleBook(objects, true)).powers("shop", "web")
	for i, sentence := range found.powers {
		found.powers[i], _, _ = strings.Cut(sentence, " (")
	}
	return found
}

func TestBuiltinRoles(t *testing.T) {
	edit := []string{
		"may get, list, watch, patch and deletecollection secrets in every namespace",
		"may exec into pods in every namespace",
		"may attach to pods in every namespace",
		"may create tokens of service accounts in every namespace",
		"may impersonate service accounts in every namespace",
	}
	for name, want := range map[string][]string{
		"cluster-admin":             {"may do everything in every namespace"},
		"admin":                     edit,
		"edit":                      edit,
		"view":                      nil,
		"system:auth-delegator":     nil,
		"system:kubelet-api-admin":  {"may reach the kubelets of nodes by proxy"},
		"system:kubelet-api-admin ": nil,
	} {
		got := powersOfRole(name)
		if diff := cmp.Diff(want, got.powers); diff != "" && len(want)+len(got.powers) > 0 {
			t.Errorf("%s: %s", name, diff)
		}
		if known := !strings.HasSuffix(name, " "); known != (len(got.unknown) == 0) {
			t.Errorf("%q: unknown %v", name, got.unknown)
		}
	}
}
