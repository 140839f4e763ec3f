package doctor

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sallyport-io/sallyport/config/wiring"
)

// TestWeakenings has somebody hold each right by which Sallyport can be made to guard less,
// and no more than that right, and somebody else one that is nearly it.
func TestWeakenings(t *testing.T) {
	var seeded []string
	for what, c := range map[string]struct {
		holds, nearly rbacv1.PolicyRule
		own           bool
	}{
		"change or delete the webhooks": {
			holds:  rbacv1.PolicyRule{Verbs: []string{"delete"}, APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations"}, ResourceNames: []string{"sallyport"}},
			nearly: rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations"}},
		},
		"take definitions of policies away": {
			holds:  rbacv1.PolicyRule{Verbs: []string{"redefine"}, APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{"denypolicies.sallyport.io"}},
			nearly: rbacv1.PolicyRule{Verbs: []string{"delete"}, APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{"widgets.example.com"}},
		},
		"change or delete policies": {
			holds:  rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{"sallyport.io"}, Resources: []string{"clusterpolicies"}, ResourceNames: []string{"one"}},
			nearly: rbacv1.PolicyRule{Verbs: []string{"create", "get"}, APIGroups: []string{"sallyport.io"}, Resources: []string{"clusterpolicies"}},
		},
		"change what runs in Sallyport's namespace": {
			holds:  rbacv1.PolicyRule{Verbs: []string{"update"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
			nearly: rbacv1.PolicyRule{Verbs: []string{"update"}, APIGroups: []string{"batch"}, Resources: []string{"jobs"}},
			own:    true,
		},
		"write the configuration that replicas start by": {
			holds:  rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"sallyport-config"}},
			nearly: rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"another"}},
			own:    true,
		},
		"make pods in Sallyport's namespace, which are not judged": {
			holds:  rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"pods"}},
			nearly: rbacv1.PolicyRule{Verbs: []string{"delete"}, APIGroups: []string{""}, Resources: []string{"pods"}},
			own:    true,
		},
		"write Secrets of Sallyport's namespace": {
			holds:  rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"sallyport-certificate"}},
			nearly: rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
			own:    true,
		},
		"act as Sallyport's account": {
			holds:  rbacv1.PolicyRule{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"sallyport"}},
			nearly: rbacv1.PolicyRule{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"default"}},
			own:    true,
		},
		"take tokens of Sallyport's account": {
			holds:  rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}},
			nearly: rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"serviceaccounts"}},
			own:    true,
		},
		"delete Sallyport's namespace": {
			holds:  rbacv1.PolicyRule{Verbs: []string{"delete"}, APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{wiring.Namespace}},
			nearly: rbacv1.PolicyRule{Verbs: []string{"delete"}, APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"dev"}},
		},
		"bind or escalate every ClusterRole": {
			holds:  rbacv1.PolicyRule{Verbs: []string{"escalate"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}},
			nearly: rbacv1.PolicyRule{Verbs: []string{"bind"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{"view"}},
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			for user, rule := range map[string]rbacv1.PolicyRule{"ann": c.holds, "bob": c.nearly} {
				name, subjects := metav1.ObjectMeta{Name: user}, []rbacv1.Subject{{Kind: "User", Name: user}}
				ref := rbacv1.RoleRef{Kind: "ClusterRole", Name: user}
				w.objects = append(w.objects, &rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{rule}})
				if c.own {
					name.Namespace = wiring.Namespace
					w.objects = append(w.objects, &rbacv1.RoleBinding{ObjectMeta: name, RoleRef: ref, Subjects: subjects})
				} else {
					w.objects = append(w.objects, &rbacv1.ClusterRoleBinding{ObjectMeta: name, RoleRef: ref, Subjects: subjects})
				}
			}
			var found []string
			for _, f := range w.look(t, Run).Checks {
				if f.Name == "people.weaken" {
					found = append(found, f.Object+" "+f.Message)
				}
			}
			if len(found) != 1 || !strings.HasPrefix(found[0], "User ann ") || !strings.Contains(found[0], what) {
				t.Errorf("%q", found)
			}
		})
		seeded = append(seeded, what)
	}
	var all []string
	for _, w := range (&looking{}).weakenings() {
		all = append(all, w.what)
	}
	slices.Sort(seeded)
	slices.Sort(all)
	if !slices.Equal(seeded, all) {
		t.Errorf("seeded are %q, and looked for %q", seeded, all)
	}
}
