package identity_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/cluster"
	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// rbac are roles from files that grant rules to the user kim, in the whole cluster
// or in a namespace.
func rbac(t *testing.T, namespace string, rules ...rbacv1.PolicyRule) *cluster.Files {
	t.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "kim"}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "r"}
	objects := []runtime.Object{&rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: rules,
	}}
	if namespace == "" {
		objects = append(objects, &rbacv1.ClusterRoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"}, ObjectMeta: metav1.ObjectMeta{Name: "b"}, Subjects: subjects, RoleRef: ref,
		})
	} else {
		objects = append(objects, &rbacv1.RoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"}, ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: namespace}, Subjects: subjects, RoleRef: ref,
		})
	}
	files, err := cluster.NewFiles(objects)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func allowed(t *testing.T, files *cluster.Files, c identity.Claim) bool {
	t.Helper()
	return identity.Review(t.Context(), files, request.User{Name: "kim"}, []identity.Claim{c}, nil).Allowed()
}

var (
	principal = identity.Claim{Key: "kerberos", Value: "legacy-frontend-app", Path: "metadata.annotations.kerberos", Form: v1alpha1.ReviewValidatedAnnotation}
	role      = identity.Claim{Key: "eks-role-arn", Value: "arn:aws:iam::1:role/s3", Path: "spec.serviceAccountName", Form: v1alpha1.ReviewResource}
)

// TestRuleForGrants gives each claim the rule that is printed for it, and sees
// that it grants that claim and none beside it.
func TestRuleForGrants(t *testing.T) {
	other := func(c identity.Claim, change func(*identity.Claim)) identity.Claim { change(&c); return c }
	claims := []identity.Claim{
		principal, role,
		other(principal, func(c *identity.Claim) { c.Value = "other" }),
		other(principal, func(c *identity.Claim) { c.Value = "legacy-frontend-app " }),
		other(principal, func(c *identity.Claim) { c.Value = `a "quoted" \ name: [x] #y ü` }),
		other(principal, func(c *identity.Claim) { c.Key = "Kerberos" }),
		other(principal, func(c *identity.Claim) { c.Key, c.Value = c.Value, c.Key }),
		other(principal, func(c *identity.Claim) { c.Form = v1alpha1.ReviewResource }),
		other(role, func(c *identity.Claim) { c.Value = "arn:aws:iam::1:role/s4" }),
	}
	for i, c := range claims {
		var rule rbacv1.PolicyRule
		if err := yaml.UnmarshalStrict([]byte(identity.RuleFor(c)), &rule); err != nil {
			t.Fatalf("%s: %v", identity.RuleFor(c), err)
		}
		if diff := cmp.Diff(c.Rule(), rule); diff != "" {
			t.Error(diff)
		}
		everywhere, inside := rbac(t, "", rule), rbac(t, "team", rule)
		for j, d := range claims {
			if got := allowed(t, everywhere, d); got != (i == j) {
				t.Errorf("the rule %s grants %s: %v", identity.RuleFor(c), d, got)
			}
		}
		if allowed(t, inside, c) {
			t.Errorf("%s is granted by a right inside a namespace", c)
		}
	}
}

// TestWhatWideRulesGrant states what RBAC makes of rules with stars, which the
// documentation of the forms rests on.
func TestWhatWideRulesGrant(t *testing.T) {
	const group = identity.Group
	for _, tt := range []struct {
		name            string
		rule            rbacv1.PolicyRule
		principal, role bool
	}{
		{"everything", rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}, true, true},
		{"every resource of the group", rbacv1.PolicyRule{Verbs: []string{"use"}, APIGroups: []string{group}, Resources: []string{"*"}}, true, true},
		{"a key in every resource", rbacv1.PolicyRule{Verbs: []string{"use"}, APIGroups: []string{group}, Resources: []string{"*"}, ResourceNames: []string{"kerberos"}}, true, false},
		{"what looks like every value", rbacv1.PolicyRule{Verbs: []string{"use"}, APIGroups: []string{group}, Resources: []string{"validatedannotations/*"}}, false, false},
		{"only the resource", rbacv1.PolicyRule{Verbs: []string{"use"}, APIGroups: []string{group}, Resources: []string{"validatedannotations"}}, false, false},
		{"a value under every key", rbacv1.PolicyRule{Verbs: []string{"use"}, APIGroups: []string{group}, Resources: []string{"validatedannotations/legacy-frontend-app"}}, true, false},
		{"a value as any subresource", rbacv1.PolicyRule{Verbs: []string{"use"}, APIGroups: []string{group}, Resources: []string{"*/legacy-frontend-app"}}, true, false},
		{"every value of a key that is a resource", rbacv1.PolicyRule{Verbs: []string{"use"}, APIGroups: []string{group}, Resources: []string{"eks-role-arn"}}, false, true},
		{"a star as a name", rbacv1.PolicyRule{Verbs: []string{"use"}, APIGroups: []string{group}, Resources: []string{"eks-role-arn"}, ResourceNames: []string{"*"}}, false, false},
		{"another verb", rbacv1.PolicyRule{Verbs: []string{"get", "create"}, APIGroups: []string{"*"}, Resources: []string{"*"}}, false, false},
		{"another group", rbacv1.PolicyRule{Verbs: []string{"use"}, APIGroups: []string{""}, Resources: []string{"*"}}, false, false},
	} {
		files := rbac(t, "", tt.rule)
		if got := allowed(t, files, principal); got != tt.principal {
			t.Errorf("%s grants a value that is a subresource: %v", tt.name, got)
		}
		if got := allowed(t, files, role); got != tt.role {
			t.Errorf("%s grants a value that is a name: %v", tt.name, got)
		}
	}
}

func TestDenial(t *testing.T) {
	odd := principal
	odd.Value, odd.Fault = "", "its value is empty"
	got := []string{principal.Denial("employee-10"), role.Denial("employee-10"), odd.Denial("employee-10"), identity.RuleFor(principal), identity.RuleFor(odd)}
	want := []string{
		`"employee-10" may not act as kerberos="legacy-frontend-app" (metadata.annotations.kerberos): the permission to use "validatedannotations/legacy-frontend-app" named "kerberos" in authorization.k8s.io, in the whole cluster, is missing`,
		`"employee-10" may not act as eks-role-arn="arn:aws:iam::1:role/s3" (spec.serviceAccountName): the permission to use "eks-role-arn" named "arn:aws:iam::1:role/s3" in authorization.k8s.io, in the whole cluster, is missing`,
		`the identity "kerberos" at metadata.annotations.kerberos can be granted to nobody: its value is empty`,
		`{apiGroups: [authorization.k8s.io], resources: ["validatedannotations/legacy-frontend-app"], resourceNames: ["kerberos"], verbs: [use]}`,
		"",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
