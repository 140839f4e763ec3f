package rbac_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// TestCertificates: only the one Secret is read and written, and only webhook
// configurations of ours.
func TestCertificates(t *testing.T) {
	account := decode[corev1.ServiceAccount](t, "serviceaccount.yaml")
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	var cluster rbacv1.ClusterRole
	var clusterBinding rbacv1.ClusterRoleBinding
	documents(t, "features/certificates.yaml", &role, &binding, &cluster, &clusterBinding)
	if role.Namespace != account.Namespace || binding.Namespace != account.Namespace || binding.RoleRef.Name != role.Name || clusterBinding.RoleRef.Name != cluster.Name {
		t.Errorf("%+v is bound by %+v, %+v by %+v", role.ObjectMeta, binding, cluster.ObjectMeta, clusterBinding)
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: account.Namespace}}
	for _, got := range [][]rbacv1.Subject{binding.Subjects, clusterBinding.Subjects} {
		if diff := cmp.Diff(subjects, got); diff != "" {
			t.Errorf("subjects (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(map[string]string{"/secrets": "create", "/secrets sallyport-certificate": "get update"}, granted(t, role.Rules)); diff != "" {
		t.Errorf("the role (-needed +granted):\n%s", diff)
	}
	needed := map[string]string{}
	for _, resource := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		needed["admissionregistration.k8s.io/"+resource+" sallyport sallyport-rules sallyport-policies"] = "patch"
	}
	if diff := cmp.Diff(needed, granted(t, cluster.Rules)); diff != "" {
		t.Errorf("the role in the cluster (-needed +granted):\n%s", diff)
	}
}
