package clusterconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/text/source"
)

func config(t *testing.T, name, spec string) *v1alpha1.ClusterConfig {
	t.Helper()
	c := &v1alpha1.ClusterConfig{}
	c.Name = name
	if err := yaml.UnmarshalStrict([]byte(spec), &c.Spec); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, spec string
		inFile     bool
		want       []string
	}{
		{"the least", `{kubeconfigSecretRef: {name: a}}`, false, nil},
		{"all", `{clusterID: Prod_1.eu, tenant: t, environment: prod, kubeconfigSecretRef: {name: a, key: k}, callers: {commonNames: ["system:a", b]}}`, false, nil},
		{"nobody may ask", `{kubeconfigSecretRef: {name: a}, callers: {}}`, false, nil},
		{"a file without a Secret", `{tenant: t}`, true, nil},
		{"no Secret", `{tenant: t}`, false, []string{"spec.kubeconfigSecretRef"}},
		{"a Secret without a name", `{kubeconfigSecretRef: {key: k}}`, true, []string{"spec.kubeconfigSecretRef.name"}},
		{"both doors", `{kubeconfigSecretRef: {name: a}, doors: [admission, access]}`, false, nil},
		{"doors", `{kubeconfigSecretRef: {name: a}, doors: [front, access, access]}`, false, []string{"spec.doors[0]", "spec.doors[2]"}},
		{"a path", `{clusterID: a/b, kubeconfigSecretRef: {name: a}}`, false, []string{"spec.clusterID"}},
		{"a pattern", `{clusterID: "prod-*", tenant: "?", environment: " ", kubeconfigSecretRef: {name: a}}`, false, []string{"spec.clusterID", "spec.tenant", "spec.environment"}},
		{"a name that leads up", `{clusterID: "..", kubeconfigSecretRef: {name: a}}`, false, []string{"spec.clusterID"}},
		{"a long name", `{clusterID: ` + strings.Repeat("a", 254) + `, kubeconfigSecretRef: {name: a}}`, false, []string{"spec.clusterID"}},
		{"callers", `{kubeconfigSecretRef: {name: a}, callers: {commonNames: ["", "a*", b, b]}}`, false, []string{"spec.callers.commonNames[0]", "spec.callers.commonNames[1]", "spec.callers.commonNames[3]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, err := range Check(config(t, "a", tt.spec), tt.inFile) {
				got = append(got, err.Field)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	var all []source.Of[*v1alpha1.ClusterConfig]
	for _, one := range []struct{ name, spec string }{
		{"a", `{tenant: t}`}, {"a", `{tenant: u}`}, {"b", `{clusterID: A}`}, {"hub", `{}`}, {"c", `{clusterID: HUB}`}, {"d", `{}`},
	} {
		all = append(all, source.Of[*v1alpha1.ClusterConfig]{Object: config(t, one.name, one.spec), Origin: "clusters.yaml"})
	}
	var got []string
	for _, p := range Problems(all, "hub") {
		got = append(got, p.Name+" "+p.Path)
	}
	if diff := cmp.Diff([]string{"a metadata.name", "b spec.clusterID", "hub spec.clusterID", "c spec.clusterID"}, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if c := Named(all, "d"); c == nil || c.Name != "d" {
		t.Errorf("d is %v", c)
	}
	if c := Named(all, "D"); c != nil {
		t.Errorf("D is %v", c)
	}
}
