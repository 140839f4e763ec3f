package rbac_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/internal/controller/policyserver"
)

// grants are the verbs of each resource in rules, as group/resource.
func grants(rules []rbacv1.PolicyRule) map[string]string {
	found := map[string][]string{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				found[group+"/"+resource] = append(found[group+"/"+resource], rule.Verbs...)
			}
		}
	}
	return joined(found)
}

func joined(found map[string][]string) map[string]string {
	all := map[string]string{}
	for resource, verbs := range found {
		slices.Sort(verbs)
		all[resource] = strings.Join(slices.Compact(verbs), " ")
	}
	return all
}

// TestPolicyServerRole holds the role of PolicyServers to the rights that are asked
// for.
func TestPolicyServerRole(t *testing.T) {
	role := decode[rbacv1.ClusterRole](t, "features/policyserver.yaml")
	if role.Name != policyserver.ServerRole {
		t.Errorf("the role is %q, and the status says %q", role.Name, policyserver.ServerRole)
	}
	needed := map[string][]string{}
	for _, r := range policyserver.Rights() {
		name := r.Group + "/" + r.Resource
		if r.Subresource != "" {
			name += "/" + r.Subresource
		}
		needed[name] = append(needed[name], r.Verb)
	}
	if diff := cmp.Diff(joined(needed), grants(role.Rules)); diff != "" {
		t.Errorf("the role (-needed +granted):\n%s", diff)
	}
}

// TestPolicyServerController lists what running PolicyServers takes.
func TestPolicyServerController(t *testing.T) {
	documents := strings.Split(read(t, "features/policyserver-controller.yaml"), "---\n")
	if len(documents) != 4 {
		t.Fatalf("%d documents, want two roles and their bindings", len(documents))
	}
	parse := func(text string, into any) {
		t.Helper()
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	var wide rbacv1.ClusterRole
	var wideBinding rbacv1.ClusterRoleBinding
	var narrow rbacv1.Role
	var narrowBinding rbacv1.RoleBinding
	for i, into := range []any{&wide, &wideBinding, &narrow, &narrowBinding} {
		parse(documents[i], into)
	}
	if diff := cmp.Diff(map[string]string{
		"admissionregistration.k8s.io/validatingwebhookconfigurations": "create delete get update",
		"admissionregistration.k8s.io/mutatingwebhookconfigurations":   "create delete get update",
		"sallyport.io/policyservers":                                   "patch",
	}, grants(wide.Rules)); diff != "" {
		t.Errorf("of the cluster (-needed +granted):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"apps/deployments": "create delete get update", "/services": "create delete get update", "/configmaps": "create delete get update",
		"/secrets": "create delete get update", "policy/poddisruptionbudgets": "create delete get update",
	}, grants(narrow.Rules)); diff != "" {
		t.Errorf("of the namespace (-needed +granted):\n%s", diff)
	}
	account := decode[rbacv1.ClusterRoleBinding](t, "clusterrolebinding.yaml").Subjects
	for name, subjects := range map[string][]rbacv1.Subject{"wide": wideBinding.Subjects, "narrow": narrowBinding.Subjects} {
		if diff := cmp.Diff(account, subjects); diff != "" {
			t.Errorf("%s binding (-want +got):\n%s", name, diff)
		}
	}
	if narrow.Namespace != account[0].Namespace || narrowBinding.RoleRef.Name != narrow.Name || wideBinding.RoleRef.Name != wide.Name {
		t.Errorf("roles %s and %s, bound %s and %s", wide.Name, narrow.Name, wideBinding.RoleRef.Name, narrowBinding.RoleRef.Name)
	}
}
