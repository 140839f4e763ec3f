package chart_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

const shipped = "../../config"

// rights are roles and bindings by their kinds and names.
type rights struct {
	roles    map[string]rbacv1.ClusterRole
	bindings map[string]rbacv1.ClusterRoleBinding
}

// rightsOf decodes the roles and bindings of documents, without their labels. A Role is
// decoded as a ClusterRole, of which it is a part.
func rightsOf(t *testing.T, documents []string) rights {
	t.Helper()
	found := rights{map[string]rbacv1.ClusterRole{}, map[string]rbacv1.ClusterRoleBinding{}}
	for _, document := range documents {
		var of struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &of); err != nil {
			t.Fatal(err)
		}
		switch of.Kind {
		case "ClusterRole", "Role":
			var role rbacv1.ClusterRole
			if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil {
				t.Fatal(err)
			}
			role.Labels = nil
			found.roles[of.Kind+" "+of.Metadata.Name] = role
		case "ClusterRoleBinding", "RoleBinding":
			var binding rbacv1.ClusterRoleBinding
			if err := yaml.UnmarshalStrict([]byte(document), &binding); err != nil {
				t.Fatal(err)
			}
			binding.Labels = nil
			found.bindings[of.Kind+" "+of.Metadata.Name] = binding
		}
	}
	return found
}

// wanted are the rights in files of config/rbac, put into a namespace, without the rules
// that leave says.
func wanted(t *testing.T, namespace string, files []string, leave func(rbacv1.PolicyRule) bool) rights {
	t.Helper()
	var all []string
	for _, file := range files {
		names, err := filepath.Glob(filepath.Join(shipped, "rbac", file+".yaml"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", file, err)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, documents(string(content))...)
		}
	}
	found := rightsOf(t, all)
	for name, role := range found.roles {
		role.Rules = slices.DeleteFunc(role.Rules, leave)
		if role.AggregationRule != nil {
			role.Rules = nil
		}
		if role.Namespace != "" {
			role.Namespace = namespace
		}
		found.roles[name] = role
	}
	for name, binding := range found.bindings {
		if binding.Namespace != "" {
			binding.Namespace = namespace
		}
		for i := range binding.Subjects {
			binding.Subjects[i].Namespace = namespace
		}
		found.bindings[name] = binding
	}
	return found
}

// TestRights holds what each set grants to the files of config/rbac that say what is
// switched on, and to nothing beyond.
func TestRights(t *testing.T) {
	follows := func(r rbacv1.PolicyRule) bool { return slices.Contains(r.ResourceNames, "sallyport-rules") }
	reports := func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, "openreports.io") }
	none := func(rbacv1.PolicyRule) bool { return false }
	// Not certificates, as one is given.
	features := []string{"features/afteruse", "features/context", "features/policyserver*", "features/scan", "features/secrets", "features/webhooks", "people/*"}
	always := []string{"clusterrole", "clusterrolebinding", "leases"}
	for _, c := range []struct {
		set   string
		files []string
		leave func(rbacv1.PolicyRule) bool
	}{
		{"minimal", append([]string{"features/certificates", "features/webhooks"}, always...), none},
		{"ha", append([]string{"features/webhooks"}, always...), none},
		{"managed", append([]string{"features/webhooks"}, always...), none},
		{"observe", append([]string{"features/scan"}, always...), func(r rbacv1.PolicyRule) bool { return follows(r) || reports(r) }},
		{"everything", append(features, always...), none},
	} {
		t.Run(c.set, func(t *testing.T) {
			want := wanted(t, guard, c.files, c.leave)
			if c.set == "everything" {
				want.roles["Role sallyport-clusters"].Rules[0].ResourceNames = []string{"east", "west"}
				role := want.roles["ClusterRole sallyport"]
				for group, resources := range map[string][]string{"argoproj.io": {"rollouts"}, "farms.example.com": {"farms", "farmtemplates"}} {
					role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get"}})
				}
				slices.SortFunc(role.Rules[len(role.Rules)-2:], func(a, b rbacv1.PolicyRule) int { return strings.Compare(a.APIGroups[0], b.APIGroups[0]) })
				want.roles["ClusterRole sallyport"] = role
			}
			got := rightsOf(t, documents(render(t, guard, set(c.set))))
			if diff := cmp.Diff(want.roles, got.roles); diff != "" {
				t.Errorf("roles (-config/rbac +chart):\n%s", diff)
			}
			if diff := cmp.Diff(want.bindings, got.bindings); diff != "" {
				t.Errorf("bindings (-config/rbac +chart):\n%s", diff)
			}
			for name, role := range got.roles {
				for _, rule := range role.Rules {
					for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
						if slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, "*") }) {
							t.Errorf("%s has a wildcard: %+v", name, rule)
						}
					}
				}
			}
		})
	}
}

// TestEachFeature switches on one feature after the other, and looks at what that adds.
func TestEachFeature(t *testing.T) {
	base := rightsOf(t, documents(render(t, guard, set("minimal"))))
	for values, adds := range map[string][]string{
		"features: {afterUse: true}":                              {"ClusterRole sallyport-after-use"},
		"features: {context: true}":                               {"ClusterRole sallyport-context"},
		"features: {policyServers: true}":                         {"ClusterRole sallyport-policy-server", "ClusterRole sallyport-policy-server-controller", "Role sallyport-policy-server-controller"},
		"features: {clusters: {enabled: true}}":                   {"Role sallyport-clusters"},
		"features: {backgroundScan: {enabled: true}}":             {"ClusterRole sallyport-scan"},
		"rbac: {people: true, create: false}\nserviceAccount: {}": nil,
		"podSource: cache":                                        nil,
		"webhook: {startNamespaces: [kube-system, a], follow: false}\ntls: {existingSecret: {name: a, caBundle: \"-----BEGIN CERTIFICATE-----\\n\"}}": nil,
	} {
		with := rightsOf(t, documents(render(t, guard, set("minimal"), file(t, values))))
		if strings.Contains(values, "create: false") {
			if len(with.bindings) > 0 || len(with.roles) != 10 {
				t.Errorf("%s: %v %v", values, with.roles, with.bindings)
			}
			continue
		}
		var added []string
		for name, role := range with.roles {
			if _, ok := base.roles[name]; !ok {
				added = append(added, name)
			} else if more, less := len(role.Rules) > len(base.roles[name].Rules), len(role.Rules) < len(base.roles[name].Rules); more || less != (strings.Contains(values, "follow: false") && name == "ClusterRole sallyport") {
				t.Errorf("%s: %s has %d rules, and %d otherwise", values, name, len(role.Rules), len(base.roles[name].Rules))
			}
		}
		slices.Sort(added)
		if !slices.Equal(added, adds) {
			t.Errorf("%s adds %q, want %q", values, added, adds)
		}
	}
}
