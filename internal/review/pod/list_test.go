package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestLists(t *testing.T) {
	const (
		pod        = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":` + specText + `}`
		deployment = `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":` + templateText + `}}`
		unnamed    = `{"spec":{"template":` + templateText + `}}`
		field      = "spec.containers[1].securityContext.privileged"
	)
	tests := []struct {
		name, apiVersion, kind, items string
		want                          []string
		wantItems                     int
	}{
		{"of anything", "v1", "List", `[{"apiVersion":"v1","kind":"ConfigMap"},` + pod + `,` + deployment + `]`,
			[]string{"items[1]." + field, "items[2].spec.template." + field}, 3},
		{"empty", "v1", "List", `[]`, nil, 0},
		{"null", "v1", "List", `null`, nil, 0},
		{"of one kind", "apps/v1", "DeploymentList", `[` + unnamed + `,` + deployment + `]`,
			[]string{"items[0].spec.template." + field, "items[1].spec.template." + field}, 2},
		{"of pods", "v1", "PodList", `[{"spec":` + specText + `}]`, []string{"items[0]." + field}, 1},
		{"of a registered kind", "batch.volcano.sh/v1alpha1", "JobList", `[{"spec":{"tasks":[{"template":` + templateText + `}]}}]`,
			[]string{"items[0].spec.tasks[0].template." + field}, 1},
		{"of another kind", "v1", "ConfigMapList", `[{"data":{}}]`, nil, 1},
		{"of lists", "v1", "List", `[{"apiVersion":"v1","kind":"PodList","items":[{"spec":` + specText + `}]}]`,
			[]string{"items[0].items[0]." + field}, 1},
		{"under another name", "v1", "ConfigMap", `[` + pod + `,{"a":1},2]`, []string{"items[0]." + field}, 1},
		{"a field called items", "x.io/v1", "Menu", `{"a":1}`, nil, 0},
		{"a text called items", "x.io/v1", "Menu", `"a"`, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := `{"apiVersion":"` + tt.apiVersion + `","kind":"` + tt.kind + `","metadata":{},"items":` + tt.items + `}`
			for _, gvk := range []schema.GroupVersionKind{{}, gvkOf(t, tt.apiVersion, tt.kind)} {
				o := mustDecode(t, gvk, raw)
				if diff := cmp.Diff(tt.want, fieldPathsOf(o)); diff != "" {
					t.Error(diff)
				}
				if len(o.Items) != tt.wantItems {
					t.Errorf("%d items", len(o.Items))
				}
			}
		})
	}
}

func TestItemsStandForThemselves(t *testing.T) {
	o := mustDecode(t, schema.GroupVersionKind{}, `{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"hostNetwork":true,"containers":[{"ports":[{"containerPort":80}]}]}}]}`)
	item := o.Items[0]
	if item.Meta.Name != "a" || item.GVK != podGVK || item.Pods[0].Path != "" || item.Pods[0].Spec != o.Pods[0].Spec {
		t.Errorf("%+v", item)
	}
}

func TestListErrors(t *testing.T) {
	nested := strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, 12) + strings.Repeat(`]}`, 12)
	tests := []struct{ name, raw, want string }{
		{"no list", `{"apiVersion":"v1","kind":"List","items":{}}`, "items: found an object, a list belongs here"},
		{"no object", `{"apiVersion":"v1","kind":"List","items":[1]}`, "items[0]: found a number, an object belongs here"},
		{"null", `{"apiVersion":"v1","kind":"PodList","items":[null]}`, "items[0]: found null, an object belongs here"},
		{"no kind", `{"apiVersion":"v1","kind":"List","items":[{}]}`,
			`items[0].kind: nothing was found, a kind such as "Pod" belongs here`},
		{"in an item", `{"apiVersion":"v1","kind":"PodList","items":[{},{"spec":{"containers":[{"image":[]}]}}]}`,
			"items[1].spec.containers[0].image: found a list, a string belongs here"},
		{"version of an item", `{"apiVersion":"v1","kind":"PodList","items":[{"apiVersion":"v2"}]}`,
			`items[0].apiVersion: found "v2", "v1" was expected`},
		{"case of a kind", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"apps/v1","kind":"deployment"}]}`,
			"items[0].kind: found deployment.apps, the kind is written Deployment.apps"},
		{"duplicate", `{"apiVersion":"v1","kind":"List","items":[{"a":1,"a":2}]}`,
			"items[0].a: stands more than once in the same object"},
		{"too deep", nested, "lists stand more than 8 deep in each other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Default().Decode(schema.GroupVersionKind{}, []byte(tt.raw))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
