package identity_test

import (
	"encoding/json"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
)

const usersRBAC = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: use}
rules: [{verbs: [use], apiGroups: [authorization.k8s.io], resources: [validatedannotations/web], resourceNames: [kerberos]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: use}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: use}
subjects: [{kind: User, name: alice}]
`

func TestWhoCan(t *testing.T) {
	filestest.InDir(t, map[string]string{
		"rbac.yaml": usersRBAC, "broken.yaml": "kind: [", "empty.yaml": "# nothing\n",
		"lost.yaml":   strings.Replace(usersRBAC, "kind: ClusterRole, name: use}", "kind: ClusterRole, name: gone}", 1),
		"star.yaml":   strings.Replace(usersRBAC, "annotations/web", `annotations/*`, 1),
		"twice.yaml":  usersRBAC + "---\n" + usersRBAC,
		"escape.yaml": strings.Replace(usersRBAC, "name: alice", `name: "al\e[2Jice"`, 1),
		"long.yaml":   strings.Replace(usersRBAC, "resourceNames: [kerberos]", "resourceNames: [kerberos"+strings.Repeat(", another-key", 100)+"]", 1),
	})
	tests := []struct {
		name, args, stdin string
		status            int
		says              string
	}{
		{"a holder", "kerberos=web -p rbac.yaml", "", 0, "User alice  ClusterRoleBinding use  ClusterRole use  rule 0 {verbs: [use], apiGroups: [authorization.k8s.io], resources: [validatedannotations/web], resourceNames: [kerberos]}"},
		{"in the words of RBAC", "use kerberos=web -p rbac.yaml", "", 0, "1 subject may use kerberos=web. Group system:masters may always, through no rule."},
		{"any value", "kerberos -p rbac.yaml", "", 0, "1 subject may use any value of kerberos."},
		{"nobody", "kerberos=db -p rbac.yaml", "", 0, "Nobody may use kerberos=db."},
		{"nobody in files without RBAC", "kerberos -p empty.yaml", "", 0, "Nobody may use any value of kerberos."},
		{"the other form", "kerberos=web --form resource -p rbac.yaml", "", 0, "Nobody may use kerberos=web."},
		{"standard input", "kerberos=web -p -", usersRBAC, 0, "User alice"},
		{"the star that RBAC does not have", "kerberos=web -p star.yaml", "", 0, `names validatedannotations/*, which RBAC takes only for the value "*"`},
		{"a role that is missing", "kerberos=web -p lost.yaml", "", 2, "warning: there is no ClusterRole gone, which ClusterRoleBinding use refers to: what User alice may do through it is not known"},
		{"a long rule", "kerberos=web -p long.yaml", "", 0, "another-..."},
		{"a file that cannot be read", "kerberos -p broken.yaml", "", 2, "not YAML"},
		{"objects that stand twice", "kerberos -p twice.yaml", "", 2, "is there twice"},
		{"nothing asked", "-p rbac.yaml", "", 2, "KEY[=VALUE] is missing"},
		{"use of nothing", "use -p rbac.yaml", "", 0, "any value of use"},
		{"two keys", "kerberos spiffe -p rbac.yaml", "", 2, `"spiffe" is one argument too many`},
		{"no key", "=web -p rbac.yaml", "", 2, "a claim needs a key"},
		{"an empty value", "kerberos= -p rbac.yaml", "", 2, "has an empty value"},
		{"a value with a slash", "kerberos=a/b -p rbac.yaml", "", 2, `contains "/"`},
		{"a value with a slash in the other form", "eks-role-arn=arn:aws:iam::1:role/s3 --form resource -p rbac.yaml", "", 0, "Nobody may use eks-role-arn"},
		{"an unknown form", "kerberos --form value -p rbac.yaml", "", 2, `there is no form "value"`},
		{"an unknown format", "kerberos -o yaml -p rbac.yaml", "", 2, `there is no output format "yaml"`},
		{"files and a cluster", "kerberos -p rbac.yaml --context prod", "", 2, "both -p and a cluster are named"},
		{"a kubeconfig that is not there", "kerberos --kubeconfig nowhere", "", 2, "the kubeconfig cannot be used"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, stdout, stderr := clitest.Run(t, test.stdin, append([]string{"who-can"}, strings.Fields(test.args)...)...)
			if status != test.status || !strings.Contains(stdout+stderr, test.says) {
				t.Errorf("exit status %d, want %d, and %q in\n%s%s", status, test.status, test.says, stdout, stderr)
			}
		})
	}
	if _, stdout, stderr := clitest.Run(t, "", "who-can", "kerberos", "-p", "escape.yaml"); strings.Contains(stdout+stderr, "\x1b") {
		t.Errorf("an escape sequence came through: %q", stdout)
	}
}

// TestWhoCanInCluster lists the objects of a cluster, where a missing role gives
// nothing and the answer is whole.
func TestWhoCanInCluster(t *testing.T) {
	bound := func(name, role string) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: name}},
		}
	}
	objects := []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "use"}, Rules: []rbacv1.PolicyRule{{
			Verbs: []string{"use"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"validatedannotations/web"}, ResourceNames: []string{"kerberos"},
		}}},
		bound("alice", "use"), bound("bob", "gone"),
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "carol"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "use"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "carol"}}},
	}
	status, stdout, stderr, _ := clitest.People(t, "", objects, "who-can", "kerberos=web", "-o", "json")
	var got struct {
		Key, Value, Form string
		AnyValue         bool
		Holders          []struct {
			Subject struct{ Kind, Name string }
			Through *struct {
				Binding struct{ Kind, Name string }
				Rule    struct{ Index int }
			}
		}
		Missing []struct {
			Role    struct{ Name string }
			Unknown bool
		}
		Warnings []string
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if status != 0 || got.Key != "kerberos" || got.Value != "web" || got.Form != "name" || len(got.Holders) != 2 || got.Holders[0].Through != nil ||
		got.Holders[1].Subject.Name != "alice" || got.Holders[1].Through.Binding.Name != "alice" ||
		len(got.Missing) != 1 || got.Missing[0].Role.Name != "gone" || got.Missing[0].Unknown || got.Warnings == nil {
		t.Errorf("exit status %d, %+v", status, got)
	}
	if !strings.Contains(stderr, "it gives nothing to User bob until somebody makes that role") {
		t.Errorf("standard error: %s", stderr)
	}
}
