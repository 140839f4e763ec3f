package rbac_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// TestAfterUse says that what evicts and marks pods is on its own, so that it can be
// left out, and reaches Sallyport's account.
func TestAfterUse(t *testing.T) {
	account := decode[corev1.ServiceAccount](t, "serviceaccount.yaml")
	var role rbacv1.ClusterRole
	var binding rbacv1.ClusterRoleBinding
	documents(t, "features/afteruse.yaml", &role, &binding)
	if want := (rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: role.Name}); binding.RoleRef != want {
		t.Errorf("the binding is to %+v, want %+v", binding.RoleRef, want)
	}
	if diff := cmp.Diff([]rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: account.Namespace}}, binding.Subjects); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"/pods/eviction": "create", "/pods": "patch"}, granted(t, role.Rules)); diff != "" {
		t.Errorf("the role (-needed +granted):\n%s", diff)
	}
}
