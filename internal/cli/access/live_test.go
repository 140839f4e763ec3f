package access_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/internal/cli/clitest"
	"github.com/sallyport-io/sallyport/internal/cluster/clustertest"
	"github.com/sallyport-io/sallyport/internal/files/filestest"
)

// TestAccessLive judges pods of an API server, by a policy that needs its RBAC
// objects too.
func TestAccessLive(t *testing.T) {
	clustertest.CheckGoroutines(t)
	pod := func(name string, spec corev1.PodSpec) *corev1.Pod {
		spec.Containers = []corev1.Container{{Name: "a", Image: "a"}}
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: spec}
	}
	server := clustertest.NewServer(t,
		pod("safe", corev1.PodSpec{ServiceAccountName: "weak"}), pod("risky", corev1.PodSpec{HostPID: true}), pod("powerful", corev1.PodSpec{ServiceAccountName: "strong"}),
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "strong"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "all"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "shop", Name: "strong"}},
		})
	filestest.InDir(t, map[string]string{
		"guard.yaml":  filestest.GuardPolicy,
		"debug.yaml":  strings.Replace(filestest.GuardPolicy, "blockFactors", "appliesTo: {subresources: [ephemeralcontainers]}, blockFactors", 1),
		"powers.yaml": strings.NewReplacer("name: guard", "name: powers", "hostPID", "powerfulServiceAccount").Replace(filestest.GuardPolicy),
		"config":      "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: " + server.Config().Host + "}}]\ncontexts: [{name: here, context: {cluster: c}}]\ncurrent-context: here\n",
	})
	tests := []struct {
		args   string
		status int
		says   string
	}{
		{"access exec shop/safe -p guard.yaml -p powers.yaml", 0, "2 pass"},
		{"access exec shop/risky -p guard.yaml", 1, "spec.hostPID"},
		{"access exec shop/powerful -p guard.yaml -p powers.yaml", 1, "ClusterRoleBinding strong"},
		{"access exec shop/gone -p guard.yaml --context here", 1, "pod shop/gone is not there"},
		{"access ephemeralcontainers shop/risky --door admission -p guard.yaml", 0, "Allowed"},
		{"access ephemeralcontainers shop/risky --door admission -p debug.yaml", 1, "spec.hostPID"},
		{"access ephemeralcontainers shop/gone --door admission -p debug.yaml", 2, "pod shop/gone is not there: at the admission door"},
		{"access exec shop/safe -p guard.yaml --context nowhere", 2, "the kubeconfig cannot be used"},
	}
	for _, test := range tests {
		status, stdout, stderr := clitest.Run(t, "", append(strings.Fields(test.args), "--kubeconfig", "config")...)
		if status != test.status || !strings.Contains(stdout+stderr, test.says) {
			t.Errorf("%s: exit status %d, want %d and %q\n%s%s", test.args, status, test.status, test.says, stdout, stderr)
		}
	}
}
