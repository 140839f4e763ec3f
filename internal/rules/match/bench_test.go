package match_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
)

// commonBlocks are what people write, with whether each is about commonTarget.
var commonBlocks = []struct {
	name  string
	block v1alpha1.Match
	want  bool
}{
	{"kind", v1alpha1.Match{Any: []v1alpha1.ResourceFilter{
		{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"Pod"}}},
	}}, true},
	{"other kind", v1alpha1.Match{Any: []v1alpha1.ResourceFilter{
		{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"apps/v1/Deployment", "StatefulSet", "DaemonSet"}}},
	}}, false},
	{"exec", v1alpha1.Match{Any: []v1alpha1.ResourceFilter{
		{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"Pod/exec"}}},
	}}, false},
	{"names and namespaces", v1alpha1.Match{Any: []v1alpha1.ResourceFilter{
		{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"Pod"}, Names: []string{"db-0", "web-*"}, Namespaces: []string{"prod-*"}}},
	}}, true},
	{"labels and annotations", v1alpha1.Match{Any: []v1alpha1.ResourceFilter{
		{Resources: &v1alpha1.ResourceDescription{
			Kinds:       []string{"Pod"},
			Annotations: map[string]string{"team.example/*": "?*"},
			Selector: &metav1.LabelSelector{
				MatchLabels:      map[string]string{"app": "web*"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"front", "back"}}},
			},
		}},
	}}, true},
	{"user and namespace labels", v1alpha1.Match{All: []v1alpha1.ResourceFilter{
		{Resources: &v1alpha1.ResourceDescription{
			Kinds: []string{"Pod"}, Operations: []string{"CREATE"},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}},
		}},
		{
			Subjects:     []rbacv1.Subject{{Kind: "Group", Name: "dev*"}, {Kind: "ServiceAccount", Namespace: "ci", Name: "deployer"}},
			Roles:        []string{"prod-*:edit*"},
			ClusterRoles: []string{"view"},
		},
	}}, true},
	{"last of five", v1alpha1.Match{Any: []v1alpha1.ResourceFilter{
		{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"Service"}}},
		{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"Pod"}, Namespaces: []string{"dev"}}},
		{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"Pod"}, Names: []string{"db-?"}}},
		{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"*/*"}, Operations: []string{"DELETE"}}},
		{Resources: &v1alpha1.ResourceDescription{Kinds: []string{"Po*"}}},
	}}, true},
}

func commonTarget() *match.Target {
	namespaceLabels := map[string]string{"env": "prod"}
	roles, clusterRoles := []string{"dev:edit", "prod-eu:editor"}, []string{"admin", "view"}
	return &match.Target{
		Kind:      schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Namespace: "prod-eu", GenerateName: "web-",
		Labels:          map[string]string{"app": "web-shop", "tier": "front", "release": "r1"},
		Annotations:     map[string]string{"note": "", "team.example/owner": "shop"},
		Operation:       request.Create,
		User:            &request.User{Name: "jane", Groups: []string{"system:authenticated", "developers"}},
		NamespaceLabels: func() (map[string]string, error) { return namespaceLabels, nil },
		Roles:           func() ([]string, []string, error) { return roles, clusterRoles, nil },
	}
}

func TestCommonBlocksAllocateNothing(t *testing.T) {
	target := commonTarget()
	for _, c := range commonBlocks {
		t.Run(c.name, func(t *testing.T) {
			m, errs := match.Compile(&c.block, field.NewPath("match"))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			got, err := m.Match(target)
			if err != nil || got != c.want {
				t.Fatalf("Match = %v, %v; want %v", got, err, c.want)
			}
			if n := testing.AllocsPerRun(100, func() { _, _ = m.Match(target) }); n != 0 {
				t.Errorf("a match allocates %v times", n)
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	target := commonTarget()
	for _, c := range commonBlocks {
		b.Run(c.name, func(b *testing.B) {
			m, errs := match.Compile(&c.block, field.NewPath("match"))
			if len(errs) > 0 {
				b.Fatal(errs.ToAggregate())
			}
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := m.Match(target); ok != c.want || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for i := range commonBlocks {
			if _, errs := match.Compile(&commonBlocks[i].block, nil); len(errs) > 0 {
				b.Fatal(errs.ToAggregate())
			}
		}
	}
}
