// Package rbac_test holds the account that Sallyport runs as to what it does, and
// to what the documentation says of it.
package rbac_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func decode[T any](t *testing.T, file string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(read(t, file)), object); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return object
}

// TestDocumentation holds docs/doors.md to the role that is shipped.
func TestDocumentation(t *testing.T) {
	_, role, found := strings.Cut(read(t, "clusterrole.yaml"), "apiVersion:")
	_, shown, shows := strings.Cut(read(t, "..", "..", "docs", "doors.md"), "### What Sallyport's own account needs")
	_, shown, fenced := strings.Cut(shown, "```yaml\n")
	shown, _, closed := strings.Cut(shown, "```\n")
	if !found || !shows || !fenced || !closed {
		t.Fatal("the role or what the documentation shows of it was not found")
	}
	if diff := cmp.Diff("apiVersion:"+role, shown); diff != "" {
		t.Errorf("docs/doors.md shows another role (-shipped +shown):\n%s", diff)
	}
}

// TestAccount follows the binding from the role to the account, and holds its
// name to the wiring, which leaves its reads out.
func TestAccount(t *testing.T) {
	account := decode[corev1.ServiceAccount](t, "serviceaccount.yaml")
	role := decode[rbacv1.ClusterRole](t, "clusterrole.yaml")
	binding := decode[rbacv1.ClusterRoleBinding](t, "clusterrolebinding.yaml")
	if want := (rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: role.Name}); binding.RoleRef != want {
		t.Errorf("the binding is to %+v, want %+v", binding.RoleRef, want)
	}
	want := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: account.Namespace}}
	if diff := cmp.Diff(want, binding.Subjects); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
	user := "'system:serviceaccount:" + account.Namespace + ":" + account.Name + "'"
	if !strings.Contains(read(t, "..", "wiring", "authorization-config.yaml"), "request.user != "+user) {
		t.Errorf("the side door does not leave out the reads of %s", user)
	}
	if !strings.Contains(read(t, "..", "wiring", "validatingwebhookconfiguration.yaml"), "namespace: "+account.Namespace+"\n") {
		t.Errorf("the front door is in another namespace than %s", account.Namespace)
	}
}

// TestRole lists what Sallyport asks of an API server, and that it may do
// nothing beyond.
func TestRole(t *testing.T) {
	needed := map[string]string{
		"/pods": "get list watch", "/namespaces": "get list watch", "/serviceaccounts": "get list watch",
		"/replicationcontrollers": "get", "apps/deployments": "get", "apps/replicasets": "get", "apps/statefulsets": "get", "apps/daemonsets": "get",
		"apps/controllerrevisions": "get", "kubevirt.io/virtualmachines": "get",
		"batch/jobs": "get", "batch/cronjobs": "get",
		"rbac.authorization.k8s.io/roles": "list watch", "rbac.authorization.k8s.io/rolebindings": "list watch",
		"rbac.authorization.k8s.io/clusterroles": "list watch", "rbac.authorization.k8s.io/clusterrolebindings": "list watch",
		"authorization.k8s.io/subjectaccessreviews": "create",
		"/events": "create patch",
		"apiextensions.k8s.io/customresourcedefinitions": "get list watch", "apiregistration.k8s.io/apiservices": "list watch",
	}
	for _, resource := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		needed["admissionregistration.k8s.io/"+resource] = "get list watch"
		needed["admissionregistration.k8s.io/"+resource+" sallyport-rules"] = "patch update"
	}
	for _, resource := range []string{"policyexceptions", "clusterpolicyexceptions", "policyexceptionrequests", "policyexceptionresponses"} {
		needed[v1alpha1.GroupVersion.Group+"/"+resource] = "delete list watch"
		needed[v1alpha1.GroupVersion.Group+"/"+resource+"/status"] = "patch"
	}
	needed[v1alpha1.GroupVersion.Group+"/policyexceptionresponses"] = "create delete list watch"
	for _, resource := range []string{"denypolicies", "clusterpolicies", "policies", "exceptionpolicies", "identitysources", "podkinds", "clusteradmissionpolicies", "admissionpolicies", "policyservers", "breakglassescalations", "breakglasssessions", "clusterconfigs"} {
		needed[v1alpha1.GroupVersion.Group+"/"+resource] = "list watch"
		needed[v1alpha1.GroupVersion.Group+"/"+resource+"/status"] = "patch"
	}
	for _, resource := range []string{"clusterpolicies", "clusteradmissionpolicies", "breakglassescalations"} {
		needed[v1alpha1.GroupVersion.Group+"/"+resource] = "get list watch"
	}
	needed[v1alpha1.GroupVersion.Group+"/policyexceptionrequests"] = "delete get list watch"
	needed[v1alpha1.GroupVersion.Group+"/breakglasssessions"] = "delete get list watch"
	granted := granted(t, decode[rbacv1.ClusterRole](t, "clusterrole.yaml").Rules)
	if diff := cmp.Diff(needed, granted); diff != "" {
		t.Errorf("the role (-needed +granted):\n%s", diff)
	}
}

// TestLeases: only in the namespace of the account may it write Leases, by which nodes
// stay alive elsewhere.
func TestLeases(t *testing.T) {
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	documents(t, "leases.yaml", &role, &binding)
	account := decode[corev1.ServiceAccount](t, "serviceaccount.yaml")
	if diff := cmp.Diff(map[string]string{"coordination.k8s.io/leases": "create delete get list update watch"}, granted(t, role.Rules)); diff != "" {
		t.Errorf("the role (-needed +granted):\n%s", diff)
	}
	want := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: account.Namespace}}
	if role.Namespace != account.Namespace || binding.Namespace != account.Namespace || binding.RoleRef.Kind != "Role" || binding.RoleRef.Name != role.Name || !cmp.Equal(want, binding.Subjects) {
		t.Errorf("%+v is bound by %+v", role.ObjectMeta, binding)
	}
}

// TestApplied holds what "kubectl apply -f config/rbac" applies, which does not go into
// folders, to what everything needs.
func TestApplied(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"clusterrole.yaml", "clusterrolebinding.yaml", "leases.yaml", "serviceaccount.yaml"}, files); diff != "" {
		t.Errorf("what features need belongs in features/ (-wanted +there):\n%s", diff)
	}
}

// granted lists the verbs of each resource that rules allow, with the names of the
// objects where they allow them of these only.
func granted(t *testing.T, rules []rbacv1.PolicyRule) map[string]string {
	t.Helper()
	granted := map[string]string{}
	for _, rule := range rules {
		if len(rule.NonResourceURLs) > 0 {
			t.Errorf("%+v: paths are not looked at here", rule)
		}
		verbs := slices.Sorted(slices.Values(rule.Verbs))
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				what := strings.Join(append([]string{group + "/" + resource}, rule.ResourceNames...), " ")
				all := append(strings.Fields(granted[what]), verbs...)
				slices.Sort(all)
				granted[what] = strings.Join(slices.Compact(all), " ")
			}
		}
	}
	return granted
}

// documents decodes the documents of a file, which are of these types in order.
func documents(t *testing.T, file string, into ...any) {
	t.Helper()
	parts := strings.Split(read(t, file), "\n---\n")
	if len(parts) != len(into) {
		t.Fatalf("%s has %d documents, want %d", file, len(parts), len(into))
	}
	for i, part := range parts {
		if err := yaml.UnmarshalStrict([]byte(part), into[i]); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// TestMember says that the account in a further cluster may read what the server's
// own may read, and change nothing.
func TestMember(t *testing.T) {
	var namespace corev1.Namespace
	var account corev1.ServiceAccount
	var role rbacv1.ClusterRole
	var binding rbacv1.ClusterRoleBinding
	documents(t, "member/member.yaml", &namespace, &account, &role, &binding)
	if want := (rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: role.Name}); binding.RoleRef != want {
		t.Errorf("the binding is to %+v, want %+v", binding.RoleRef, want)
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: namespace.Name}}
	if diff := cmp.Diff(subjects, binding.Subjects); diff != "" || account.Namespace != namespace.Name {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
	needed := granted(t, decode[rbacv1.ClusterRole](t, "clusterrole.yaml").Rules)
	ofOwn := []string{v1alpha1.GroupVersion.Group, "apiextensions.k8s.io", "coordination.k8s.io", "admissionregistration.k8s.io", "apiregistration.k8s.io"}
	for resource := range needed {
		if group, _, _ := strings.Cut(resource, "/"); slices.Contains(ofOwn, group) {
			delete(needed, resource)
		}
	}
	// What happens to policies is told where these are.
	delete(needed, "/events")
	if diff := cmp.Diff(needed, granted(t, role.Rules)); diff != "" {
		t.Errorf("the role (-needed +granted):\n%s", diff)
	}
}

// TestSecrets says that Secrets are read only in the account's own namespace.
func TestSecrets(t *testing.T) {
	account := decode[corev1.ServiceAccount](t, "serviceaccount.yaml")
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	documents(t, "features/secrets.yaml", &role, &binding)
	if role.Namespace != account.Namespace || binding.Namespace != account.Namespace {
		t.Errorf("the role is in %s and its binding in %s, the account in %s", role.Namespace, binding.Namespace, account.Namespace)
	}
	if want := (rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: role.Name}); binding.RoleRef != want {
		t.Errorf("the binding is to %+v, want %+v", binding.RoleRef, want)
	}
	if diff := cmp.Diff([]rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: account.Namespace}}, binding.Subjects); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"/secrets": "get list watch"}, granted(t, role.Rules)); diff != "" {
		t.Errorf("the role (-needed +granted):\n%s", diff)
	}
}

// TestContextRole makes sure that policies may read nothing unless somebody adds
// it, and that what is added reaches Sallyport's account.
func TestContextRole(t *testing.T) {
	role, binding, found := strings.Cut(read(t, "features/context.yaml"), "---\n")
	if !found {
		t.Fatal("no binding was found")
	}
	var r rbacv1.ClusterRole
	var b rbacv1.ClusterRoleBinding
	if err := errors.Join(yaml.UnmarshalStrict([]byte(role), &r), yaml.UnmarshalStrict([]byte(binding), &b)); err != nil {
		t.Fatal(err)
	}
	account := decode[corev1.ServiceAccount](t, "serviceaccount.yaml")
	if len(r.Rules) > 0 || r.AggregationRule == nil || b.RoleRef.Name != r.Name || len(b.Subjects) != 1 || b.Subjects[0].Name != account.Name || b.Subjects[0].Namespace != account.Namespace {
		t.Errorf("%+v, %+v", r, b)
	}
}
