package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

func user(name string) rbacv1.Subject { return rbacv1.Subject{Kind: "User", Name: name} }

// aggregatedRole selects the roles that are labelled for it.
func aggregatedRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	r := clusterRole(name, rules...)
	r.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"for": name}}}}
	return r
}

func labelled(r *rbacv1.ClusterRole, chosen string) *rbacv1.ClusterRole {
	r.Labels = map[string]string{"for": chosen}
	return r
}

func TestWhoCan(t *testing.T) {
	exec := Question{Attributes: request.Attributes{Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "shop", Name: "web"}}
	claim := Question{Attributes: request.Attributes{Verb: "use", Group: "authorization.k8s.io", Resource: "validatedannotations", Subresource: "frontend", Name: "kerberos"}}
	anyValue := claim
	anyValue.Subresource, anyValue.AnySubresource = "", true
	anyName := claim
	anyName.Resource, anyName.Subresource, anyName.Name, anyName.AnyName = "kerberos", "", "", true
	use := func(resource string, names ...string) *rbacv1.ClusterRole {
		return clusterRole("r", named(rule("authorization.k8s.io", resource, "use"), names...))
	}
	objects := func(o ...runtime.Object) []runtime.Object { return o }
	aliceUses := everywhere("b", "ClusterRole", "r", user("alice"))
	const aliceRule = "User alice: ClusterRoleBinding b -> ClusterRole r, rule 0 "
	const inGroup = "{verbs: [use], apiGroups: [authorization.k8s.io], resources: "
	tests := []struct {
		name    string
		objects []runtime.Object
		ask     Question
		want    []string
	}{
		{"nobody", nil, exec, nil},
		{"each subject, in order", objects(clusterRole("r", rule("", "pods/exec", "create")),
			everywhere("b", "ClusterRole", "r", user("bob"), account("shop", "web"), group("devs"), user("alice"), user("bob"))), exec, []string{
			"Group devs: ClusterRoleBinding b -> ClusterRole r, rule 0 {verbs: [create], apiGroups: [\"\"], resources: [pods/exec]}",
			"ServiceAccount shop/web: ClusterRoleBinding b -> ClusterRole r, rule 0 {verbs: [create], apiGroups: [\"\"], resources: [pods/exec]}",
			"User alice: ClusterRoleBinding b -> ClusterRole r, rule 0 {verbs: [create], apiGroups: [\"\"], resources: [pods/exec]}",
			"User bob: ClusterRoleBinding b -> ClusterRole r, rule 0 {verbs: [create], apiGroups: [\"\"], resources: [pods/exec]}",
		}},
		{"the rule of several, by each binding", objects(
			role("shop", "r", rule("", "pods", "get"), rule("", "*/exec", "*"), rule("*", "*", "create")),
			local("shop", "z", "Role", "r", user("alice")), local("shop", "a", "Role", "r", user("alice"))), exec, []string{
			`User alice: RoleBinding shop/a -> Role shop/r, rule 1 {verbs: ["*"], apiGroups: [""], resources: ["*/exec"]}`,
			`User alice: RoleBinding shop/a -> Role shop/r, rule 2 {verbs: [create], apiGroups: ["*"], resources: ["*"]}`,
			`User alice: RoleBinding shop/z -> Role shop/r, rule 1 {verbs: ["*"], apiGroups: [""], resources: ["*/exec"]}`,
			`User alice: RoleBinding shop/z -> Role shop/r, rule 2 {verbs: [create], apiGroups: ["*"], resources: ["*"]}`,
		}},
		{"a role binding gives only in its namespace", objects(clusterRole("r", rule("", "pods/exec", "create")), local("bank", "b", "ClusterRole", "r", user("alice"))), exec, nil},
		{"a role binding gives nothing without a namespace", objects(use("*"), local("shop", "b", "ClusterRole", "r", user("alice"))), claim, nil},
		{"an account without a namespace is of the binding's", objects(role("shop", "r", rule("", "pods/exec", "create")), local("shop", "b", "Role", "r", account("", "web"))), exec, []string{
			"ServiceAccount shop/web: RoleBinding shop/b -> Role shop/r, rule 0 {verbs: [create], apiGroups: [\"\"], resources: [pods/exec]}",
		}},
		{"an account of no namespace is nobody", objects(use("*"), everywhere("b", "ClusterRole", "r", account("", "web"))), claim, nil},
		{"a subject of an unknown kind is nobody", objects(use("*"), everywhere("b", "ClusterRole", "r", rbacv1.Subject{Kind: "user", Name: "alice"})), claim, nil},
		{"a cluster role binding to a role", objects(role("shop", "r", rule("", "*", "*")), everywhere("b", "Role", "r", user("alice"))), exec, nil},
		{"a built-in role", objects(everywhere("b", "ClusterRole", "cluster-admin", user("alice"))), claim, []string{
			`User alice: ClusterRoleBinding b -> ClusterRole cluster-admin, built-in rule {verbs: ["*"], apiGroups: ["*"], resources: ["*"]}`,
		}},
		{"a built-in role that is aggregated", objects(local("shop", "b", "ClusterRole", "edit", user("alice"))), exec, []string{
			`User alice: RoleBinding shop/b -> ClusterRole edit, built-in rule of ClusterRole system:aggregate-to-edit {verbs: [get, list, watch, create, delete, deletecollection, patch, update], apiGroups: [""], resources: [secrets, pods/exec, pods/attach, pods/portforward, pods/proxy, services/proxy]}`,
		}},
		{"a built-in role that files have otherwise", objects(clusterRole("edit", rule("", "pods", "get")), local("shop", "b", "ClusterRole", "edit", user("alice"))), exec, nil},
		{"an aggregated role", objects(aggregatedRole("all"), labelled(use("validatedannotations/frontend"), "all"), everywhere("b", "ClusterRole", "all", user("alice"))), claim, []string{
			"User alice: ClusterRoleBinding b -> ClusterRole all, rule 0 of ClusterRole r " + inGroup + "[validatedannotations/frontend]}",
		}},
		{"an aggregated role that is filled in", objects(aggregatedRole("all", rule("authorization.k8s.io", "*", "use")), labelled(use("validatedannotations/frontend"), "all"), everywhere("b", "ClusterRole", "all", user("alice"))), claim, []string{
			"User alice: ClusterRoleBinding b -> ClusterRole all, rule 0 " + inGroup + `["*"]}`,
		}},
		{"roles that select one another", objects(labelled(aggregatedRole("a"), "b"), labelled(aggregatedRole("b"), "a"), everywhere("b", "ClusterRole", "a", user("alice"))), claim, nil},

		{"a value of a key", objects(use("validatedannotations/frontend", "kerberos"), aliceUses), claim, []string{aliceRule + inGroup + "[validatedannotations/frontend], resourceNames: [kerberos]}"}},
		{"a value of every key", objects(use("*/frontend"), aliceUses), claim, []string{aliceRule + inGroup + `["*/frontend"]}`}},
		{"every value of a key", objects(use("*", "kerberos"), aliceUses), claim, []string{aliceRule + inGroup + `["*"], resourceNames: [kerberos]}`}},
		{"another value", objects(use("validatedannotations/backend", "kerberos"), aliceUses), claim, nil},
		{"another key", objects(use("validatedannotations/frontend", "spiffe"), aliceUses), claim, nil},
		{"case counts", objects(use("validatedannotations/Frontend", "kerberos"), aliceUses), claim, nil},
		{"a wildcard that RBAC does not have", objects(use("validatedannotations/*", "kerberos"), aliceUses), claim, nil},
		{"the resource is not its subresources", objects(use("validatedannotations", "kerberos"), aliceUses), claim, nil},
		{"the resource of another group", objects(clusterRole("r", rule("sallyport.io", "*", "use")), aliceUses), claim, nil},

		{"any value, by one", objects(use("validatedannotations/backend", "kerberos"), aliceUses), anyValue, []string{aliceRule + inGroup + "[validatedannotations/backend], resourceNames: [kerberos]}"}},
		{"any value, by all", objects(use("*"), aliceUses), anyValue, []string{aliceRule + inGroup + `["*"]}`}},
		{"any value, by the wildcard for subresources", objects(use("*/backend"), aliceUses), anyValue, []string{aliceRule + inGroup + `["*/backend"]}`}},
		{"any value, of another key", objects(use("validatedannotations/backend", "spiffe"), aliceUses), anyValue, nil},
		{"any value, only by the resource", objects(use("validatedannotations"), aliceUses), anyValue, nil},
		{"any value, by an empty subresource", objects(use("validatedannotations/"), aliceUses), anyValue, nil},
		{"any value, by another resource", objects(use("pods/frontend"), aliceUses), anyValue, nil},
		{"any name, by one", objects(use("kerberos", "frontend"), aliceUses), anyName, []string{aliceRule + inGroup + "[kerberos], resourceNames: [frontend]}"}},
		{"any name, by all", objects(use("kerberos"), aliceUses), anyName, []string{aliceRule + inGroup + "[kerberos]}"}},
		{"any name, of another resource", objects(use("spiffe", "frontend"), aliceUses), anyName, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files, err := NewFiles(test.objects)
			if err != nil {
				t.Fatal(err)
			}
			answer := files.RBAC().WhoCan(test.ask)
			var got []string
			for i, h := range answer.Holders {
				switch {
				case i == 0 && h == (Holder{Subject: Subject{Kind: "Group", Name: "system:masters"}}):
				case h.Through == nil:
					t.Errorf("%s holds it through nothing", h.Subject)
				default:
					got = append(got, h.Subject.String()+": "+h.Through.String())
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" || len(answer.Missing) > 0 {
				t.Errorf("(-want +got):\n%s%v", diff, answer.Missing)
			}
		})
	}
}

// TestMissingRoles shows that a binding to nothing is never passed over.
func TestMissingRoles(t *testing.T) {
	exec := Question{Attributes: request.Attributes{Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "shop", Name: "web"}}
	broken := aggregatedRole("broken")
	broken.AggregationRule.ClusterRoleSelectors[0].MatchLabels["for"] = "not a label!"
	objects := []runtime.Object{
		broken,
		everywhere("a", "ClusterRole", "gone", user("alice"), user("bob")),
		everywhere("b", "ClusterRole", "broken", user("carol")),
		everywhere("empty", "ClusterRole", "gone"),
		local("shop", "c", "Role", "gone", account("", "web")),
		local("bank", "d", "Role", "gone", user("alice")),
		local("shop", "e", "Something", "gone", user("alice")),
	}
	tests := []struct {
		name string
		rbac func() *RBAC
		want []string
	}{
		{"in files", func() *RBAC {
			files, err := NewFiles(objects)
			if err != nil {
				t.Fatal(err)
			}
			return files.RBAC()
		}, []string{
			"there is no ClusterRole gone, which ClusterRoleBinding a refers to: what User alice and User bob may do through it is not known; add a file that holds it",
			"ClusterRole broken has a selector that does not parse, which ClusterRoleBinding b refers to: what User carol may do through it is not known; add a file that holds it",
			"there is no Role shop/gone, which RoleBinding shop/c refers to: what ServiceAccount shop/web may do through it is not known; add a file that holds it",
		}},
		{"in a cluster", func() *RBAC { return NewRBAC(objects) }, []string{
			"there is no ClusterRole gone, which ClusterRoleBinding a refers to: it gives nothing to User alice and User bob until somebody makes that role",
			"ClusterRole broken has a selector that does not parse, which ClusterRoleBinding b refers to: it gives nothing to User carol until somebody makes that role",
			"there is no Role shop/gone, which RoleBinding shop/c refers to: it gives nothing to ServiceAccount shop/web until somebody makes that role",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answer := test.rbac().WhoCan(exec)
			var got []string
			for i := range answer.Missing {
				got = append(got, answer.Missing[i].String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" || len(answer.Holders) != 1 {
				t.Errorf("(-want +got):\n%s%v", diff, answer.Holders)
			}
		})
	}
}
