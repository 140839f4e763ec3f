package rbac_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// TestWebhooks: only the configurations that are shipped are filled in.
func TestWebhooks(t *testing.T) {
	account := decode[corev1.ServiceAccount](t, "serviceaccount.yaml")
	var cluster rbacv1.ClusterRole
	var binding rbacv1.ClusterRoleBinding
	documents(t, "features/webhooks.yaml", &cluster, &binding)
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: account.Namespace}}
	if diff := cmp.Diff(subjects, binding.Subjects); diff != "" || binding.RoleRef.Name != cluster.Name {
		t.Errorf("%s, subjects (-want +got):\n%s", binding.RoleRef.Name, diff)
	}
	needed := map[string]string{}
	for _, resource := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		needed["admissionregistration.k8s.io/"+resource+" sallyport"] = "update"
	}
	if diff := cmp.Diff(needed, granted(t, cluster.Rules)); diff != "" {
		t.Errorf("the role (-needed +granted):\n%s", diff)
	}
}
