package cluster

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

func TestAllowed(t *testing.T) {
	exempter := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "exempter"}, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"exempt"}, APIGroups: []string{"sallyport.io"}, Resources: []string{"denypolicies"}, ResourceNames: []string{"strict"},
	}}}
	execer := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "execer", Namespace: "shop"}, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"*/exec"},
	}}}
	binding := func(name, kind, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: kind, Name: role}, Subjects: subjects}
	}
	files, err := NewFiles([]runtime.Object{
		exempter, execer,
		binding("alice", "ClusterRole", "exempter", rbacv1.Subject{Kind: "User", Name: "alice"}),
		binding("security", "ClusterRole", "exempter", rbacv1.Subject{Kind: "Group", Name: "security"}),
		binding("admins", "ClusterRole", "cluster-admin", rbacv1.Subject{Kind: "Group", Name: "admins"}),
		binding("lost", "ClusterRole", "nowhere", rbacv1.Subject{Kind: "User", Name: "carol"}),
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "bot", Namespace: "shop"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "execer"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "bot"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	exempt := request.Attributes{Verb: "exempt", Group: "sallyport.io", Resource: "denypolicies", Name: "strict"}
	other := exempt
	other.Name = "lenient"
	exec := request.Attributes{Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "shop", Name: "web"}
	elsewhere := exec
	elsewhere.Namespace = "bank"
	get := exec
	get.Verb = "get"
	bot := request.User{Name: "system:serviceaccount:shop:bot"}
	cases := []struct {
		name       string
		user       request.User
		attributes request.Attributes
		want       bool
		err        string
	}{
		{"a user by name", request.User{Name: "alice"}, exempt, true, ""},
		{"case counts", request.User{Name: "Alice"}, exempt, false, ""},
		{"another resource name", request.User{Name: "alice"}, other, false, ""},
		{"a group", request.User{Name: "bob", Groups: []string{"security"}}, exempt, true, ""},
		{"a group is not a user", request.User{Name: "security"}, exempt, false, ""},
		{"cluster-admin need not stand in files", request.User{Name: "bob", Groups: []string{"admins"}}, exempt, true, ""},
		{"system:masters", request.User{Name: "root", Groups: []string{"system:masters"}}, exempt, true, ""},
		{"a service account in its namespace", bot, exec, true, ""},
		{"a role binding ends at its namespace", bot, elsewhere, false, ""},
		{"another verb", bot, get, false, ""},
		{"a role that stands nowhere", request.User{Name: "carol"}, exempt, false, "there is no ClusterRole nowhere"},
		{"nobody", request.User{Name: "dave"}, exempt, false, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := files.Allowed(context.Background(), c.user, c.attributes)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, %v; want %v, %q", got, err, c.want, c.err)
			}
		})
	}
}
