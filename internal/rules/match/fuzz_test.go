package match_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// FuzzMatch makes a block of what a target is. If the block compiles, it matches
// that target, in every form and through its index; and whatever it is made of,
// nothing panics.
func FuzzMatch(f *testing.F) {
	f.Add("", "v1", "Pod", "", "default", "web-0", "app", "web", "team.example/owner", "shop", "jane")
	f.Add("apps", "v1", "Deployment", "scale", "a", "b", "a/b", "", "x", "*", "system:serviceaccount:a:b")
	f.Add("", "v1", "PodExecOptions", "exec", "a", "b", "a*", "?", "x/*", "", "")
	f.Add("", "v1", "Namespace", "", "", "a", "a", "b", "c", "d", "e:f")
	f.Add("*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*")
	f.Add("core", "v1", "Foo", "", "", "..", "", "", "", "", "")
	f.Fuzz(func(t *testing.T, group, version, kind, subresource, namespace, name, label, labelValue, annotation, annotationValue, user string) {
		target := &match.Target{
			Kind: gvk(group, version, kind), Subresource: subresource, Namespace: namespace, Name: name,
			Labels: map[string]string{label: labelValue}, Annotations: map[string]string{annotation: annotationValue},
			Operation: request.Update, User: &request.User{Name: user, Groups: []string{user}},
			NamespaceLabels: func() (map[string]string, error) { return map[string]string{label: labelValue}, nil },
			Roles:           func() ([]string, []string, error) { return []string{namespace + ":" + name}, []string{name}, nil },
		}
		filters := selfFilters(target, label)
		for i := range filters {
			for _, block := range []*v1alpha1.Match{
				{ResourceFilter: filters[i]},
				{Any: []v1alpha1.ResourceFilter{{Kind: v1alpha1.Strings{"Other"}}, filters[i]}},
				{All: []v1alpha1.ResourceFilter{filters[i], filters[len(filters)-1], filters[i]}},
			} {
				m, errs := match.Compile(block, field.NewPath("match"))
				if len(errs) > 0 {
					continue
				}
				// core is another name of the group without one; no group is called so.
				if got, err := m.Match(target); (!got || err != nil) && group != "core" {
					t.Errorf("block %d made of %v does not match it: %v, %v", i, target.Kind, got, err)
				}
				checkKeys(t, m, target)
			}
		}
		odd := &v1alpha1.Match{Any: []v1alpha1.ResourceFilter{{
			Kind: v1alpha1.Strings{group, version + "/" + kind, kind + "/" + subresource, name + "/" + label + "/" + user},
			Name: v1alpha1.Strings{labelValue, annotationValue}, Namespace: v1alpha1.Strings{user},
			Roles: []string{user, annotationValue}, ClusterRoles: []string{labelValue},
			Subjects: []rbacv1.Subject{{Kind: kind, Name: label, Namespace: annotation}},
		}}}
		if m, errs := match.Compile(odd, nil); len(errs) == 0 {
			_, _ = m.Match(target)
		}
		for _, entry := range append(odd.Any[0].Kind, group+"/"+version+"/"+kind+"/"+subresource) {
			if parsed, err := match.ParseKind(entry); err == nil {
				parsed.Match(target.Kind, subresource)
			}
		}
	})
}

// selfFilters are filters of what the target is: each of them of one thing, the
// last of all things.
func selfFilters(target *match.Target, label string) []v1alpha1.ResourceFilter {
	group := target.Kind.Group
	if group == "" {
		group = "core"
	}
	kind := group + "/" + target.Kind.Version + "/" + target.Kind.Kind
	if target.Subresource != "" {
		kind += "/" + target.Subresource
	}
	labels := &metav1.LabelSelector{MatchLabels: target.Labels}
	there := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: metav1.LabelSelectorOpExists}}}
	all := v1alpha1.ResourceDescription{
		Kinds: []string{kind}, Names: []string{target.Name}, Annotations: target.Annotations, Selector: labels,
		Operations: []string{string(target.Operation)},
	}
	descriptions := []v1alpha1.ResourceDescription{
		{Kinds: all.Kinds}, {Names: all.Names}, {Annotations: all.Annotations}, {Selector: labels}, {Selector: there}, {Operations: all.Operations},
	}
	if target.Namespace != "" && target.Kind.Kind != "Namespace" {
		all.Namespaces, all.NamespaceSelector = []string{target.Namespace}, labels
		descriptions = append(descriptions, v1alpha1.ResourceDescription{Namespaces: all.Namespaces}, v1alpha1.ResourceDescription{NamespaceSelector: labels})
	}
	var filters []v1alpha1.ResourceFilter
	for i := range descriptions {
		filters = append(filters, v1alpha1.ResourceFilter{Resources: &descriptions[i]})
	}
	user := v1alpha1.ResourceFilter{Subjects: []rbacv1.Subject{{Kind: "Group", Name: target.User.Name}}}
	role := v1alpha1.ResourceFilter{Roles: []string{target.Namespace + ":" + target.Name}}
	clusterRole := v1alpha1.ResourceFilter{ClusterRoles: []string{target.Name}}
	return append(filters, user, role, clusterRole,
		v1alpha1.ResourceFilter{Resources: &all, Subjects: user.Subjects, Roles: role.Roles, ClusterRoles: clusterRole.ClusterRoles})
}

// TestSelfFiltersCompile holds that what FuzzMatch asks is asked at all.
func TestSelfFiltersCompile(t *testing.T) {
	target := &match.Target{
		Kind: gvk("apps", "v1", "Deployment"), Subresource: "scale", Namespace: "default", Name: "web",
		Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"team": "shop"},
		Operation: request.Update, User: &request.User{Name: "jane"},
	}
	for i, filter := range selfFilters(target, "app") {
		if _, errs := match.Compile(&v1alpha1.Match{ResourceFilter: filter}, field.NewPath("match")); len(errs) > 0 {
			t.Errorf("filter %d: %v", i, errs.ToAggregate())
		}
	}
}

// checkKeys holds the index's keys against a target that the block matches.
func checkKeys(t *testing.T, m *match.Match, target *match.Target) {
	t.Helper()
	if leads(m.Keys(), target) {
		return
	}
	t.Errorf("an index by %v does not find %v", m.Keys(), target.Key())
}

// leads reports whether an index by the keys finds the target.
func leads(keys []match.Key, target *match.Target) bool {
	key := target.Key()
	return slices.ContainsFunc(keys, func(k match.Key) bool {
		if value, ok := target.Labels[k.Label.Key]; k.Label != (match.Label{}) && (!ok || value != k.Label.Value) {
			return false
		}
		return (k.Kind == "" || k.Kind == key.Kind) && (k.Namespace == "" || k.Namespace == key.Namespace) &&
			(k.Name == "" || k.Name == key.Name || k.Prefix && strings.HasPrefix(key.Name, k.Name))
	})
}
