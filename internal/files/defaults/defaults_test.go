package defaults

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// TestFill has objects of other kinds than pods, whole.
func TestFill(t *testing.T) {
	tests := []struct{ name, written, want string }{
		{
			"nulls of every shape",
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","labels":null,"annotations":{"x":null}},"spec":{"ports":[{"port":80,"name":null},null],"selector":null,"type":null}}`,
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"shop","annotations":{"x":""}},"spec":{"ports":[{"protocol":"TCP","port":80,"targetPort":80},{"protocol":"TCP","port":0,"targetPort":0}],"type":"ClusterIP","sessionAffinity":"None","internalTrafficPolicy":"Cluster"},"status":{"loadBalancer":{}}}`,
		},
		{
			"a field that is not known stays, at every depth",
			`{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"a","namespace":"b","new":1},"spec":{"newer":null,"ingress":[{"ports":[{"port":80}]},{"ports":[{"port":81,"newest":{"x":[]}}]}]}}`,
			`{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"a","namespace":"b","new":1},"spec":{"newer":null,"podSelector":{},"policyTypes":["Ingress"],"ingress":[{"ports":[{"port":80,"protocol":"TCP"}]},{"ports":[{"port":81,"protocol":"TCP","newest":{"x":[]}}]}]}}`,
		},
		{
			"subjects by their kinds",
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"a"},"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},{"kind":"ServiceAccount","name":"s"}]}`,
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"a","namespace":"shop"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"u"},{"kind":"ServiceAccount","name":"s"}]}`,
		},
		{
			"text of a secret",
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"k":"YQ=="},"stringData":{"l":"b"}}`,
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"shop"},"data":{"k":"YQ==","l":"Yg=="},"type":"Opaque"}`,
		},
		{
			"by place: the two directions of an autoscaler",
			`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"x"},"metrics":[{"type":"Pods"}],"behavior":{"scaleUp":{"selectPolicy":"Min"}}}}`,
			`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a","namespace":"shop"},"spec":{"minReplicas":1,"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"x"},"metrics":[{"type":"Pods"}],"behavior":{` +
				`"scaleUp":{"selectPolicy":"Min","stabilizationWindowSeconds":0,"policies":[{"type":"Pods","value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]},` +
				`"scaleDown":{"selectPolicy":"Max","policies":[{"type":"Percent","value":100,"periodSeconds":15}]}}},"status":{"currentMetrics":null,"desiredReplicas":0}}`,
		},
		{
			"a custom kind, except for its namespace",
			`{"apiVersion":"example.com/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"x":null}}`,
			`{"apiVersion":"example.com/v1","kind":"Deployment","metadata":{"name":"a","namespace":"shop"},"spec":{"x":null}}`,
		},
		{
			"a custom kind that names its namespace",
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"b"},"spec":null}`,
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"b"},"spec":null}`,
		},
		{
			"a version that no API server serves any more",
			`{"apiVersion":"extensions/v1beta1","kind":"Deployment","metadata":{"name":"a","namespace":"b"},"spec":{"replicas":null}}`,
			`{"apiVersion":"extensions/v1beta1","kind":"Deployment","metadata":{"name":"a","namespace":"b"},"spec":{"replicas":null}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var head struct{ APIVersion, Kind string }
			if err := json.Unmarshal([]byte(tt.written), &head); err != nil {
				t.Fatal(err)
			}
			full, err := Newest().Fill(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind), []byte(tt.written), "shop")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tree(t, []byte(tt.want)), tree(t, full)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func tree(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	m, err := apijson.Tree(raw)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFillErrors says that what the API server cannot read is named by its field.
func TestFillErrors(t *testing.T) {
	for _, tt := range []struct{ kind, written, want string }{
		{"Deployment", `{"spec":{"replicas":"3"}}`, "spec.replicas"},
		{"Deployment", `{"spec":{"new":1,"template":{"spec":{"volumes":[{"name":1}]}}}}`, "spec.template.spec.volumes[0].name"},
		{"Deployment", `{"metadata":{"labels":[]}}`, "metadata.labels"},
		{"Widget", `{"metadata":[]}`, "metadata"},
	} {
		_, err := Newest().Fill(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: tt.kind}, []byte(tt.written), "shop")
		if err == nil || !strings.HasPrefix(err.Error(), tt.want+":") {
			t.Errorf("%s %s: %v", tt.kind, tt.written, err)
		}
	}
}

// TestTable holds every row to the types that it is about: one that finds neither
// its type nor its field would fill in nothing, in silence.
func TestTable(t *testing.T) {
	types := map[string]reflect.Type{}
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || types[typeName(of)] != nil {
			return
		}
		types[typeName(of)] = of
		for i := range of.NumField() {
			walk(of.Field(i).Type)
		}
	}
	for _, kind := range read().Kinds {
		group, name, _ := strings.Cut(kind, " ")
		object, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(group, name))
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		walk(reflect.TypeOf(object).Elem())
	}
	for _, r := range read().Rows {
		of := types[r.Type]
		if of == nil {
			t.Errorf("%s: no kind has this type", r.Type)
			continue
		}
		field := fieldIndex(of, r.Field)
		if field < 0 {
			t.Errorf("%s has no field %s", r.Type, r.Field)
			continue
		}
		at := reflect.New(of.Field(field).Type)
		if err := json.Unmarshal(r.Value, at.Interface()); err != nil {
			t.Errorf("%s.%s: %v", r.Type, r.Field, err)
		}
		for _, c := range r.When {
			if !strings.HasPrefix(c.Field, "../") && fieldIndex(of, c.Field) < 0 {
				t.Errorf("%s.%s: there is no field %s for its condition", r.Type, r.Field, c.Field)
			}
			if (len(c.In) == 0) == (len(c.Not) == 0) {
				t.Errorf("%s.%s: its condition names values neither or both ways", r.Type, r.Field)
			}
		}
	}
	if len(read().Rows) < 100 || len(read().Kinds) < 40 {
		t.Errorf("%d rows about %d kinds", len(read().Rows), len(read().Kinds))
	}
}

func TestVersions(t *testing.T) {
	oldest, newest := Versions()
	for _, version := range []string{"", oldest, newest, "v" + newest, newest + ".2", "v1.36.0"} {
		if _, err := For(version); err != nil {
			t.Errorf("%q: %v", version, err)
		}
	}
	for version, want := range map[string]string{"1": "is not a version", "2.30": "is not a version", "1.x": "is not a version", "1.29": "is not known", "1.38": "versions " + oldest + " to " + newest, "1.30.1.2": "is not a version"} {
		if _, err := For(version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", version, err)
		}
	}
}
