package identity

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/pod"
)

// documentPod is the pod of document "Validated Pod Annotations".
const documentPod = `
apiVersion: v1
kind: Pod
metadata:
  name: app
spec:
  containers:
  - name: app
    image: gcr.io/mycompany/app:1.0
  validatedAnnotations:
  - cloud.google.com/serviceaccount: gcs@mycompany.gserviceaccount.com
  - kerberos: legacy-frontend-app
`

func TestDocumentField(t *testing.T) {
	for _, tt := range []struct {
		name, object string
		want         []string
		err          string
	}{
		{"the document's pod", documentPod, []string{
			`spec.validatedAnnotations[0]["cloud.google.com/serviceaccount"]: cloud.google.com/serviceaccount="gcs@mycompany.gserviceaccount.com"`,
			`spec.validatedAnnotations[1].kerberos: kerberos="legacy-frontend-app"`}, ""},
		{"a map", podHead + "spec: {validatedAnnotations: {b: w, a: v}}", []string{`spec.validatedAnnotations.a: a="v"`, `spec.validatedAnnotations.b: b="w"`}, ""},
		{"a template", "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {validatedAnnotations: {a: v}}}}", []string{`spec.template.spec.validatedAnnotations.a: a="v"`}, ""},
		{"a revision", "apiVersion: apps/v1\nkind: ControllerRevision\nrevision: 1\ndata: {spec: {template: {spec: {validatedAnnotations: {a: v}}}}}", []string{`data.spec.template.spec.validatedAnnotations.a: a="v"`}, ""},
		{"in a list", "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, spec: {validatedAnnotations: {a: v}}}]", []string{`items[0].spec.validatedAnnotations.a: a="v"`}, ""},
		{"a number in a list", "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, spec: {validatedAnnotations: {a: 1}}}]", nil, `the identities that the List carries are not known: items[0].spec.validatedAnnotations.a: the value of the identity "a" is not a string; put it in quotes`},
		{"null", podHead + "spec: {validatedAnnotations: null}", nil, ""},
		{"the name elsewhere", podHead + "metadata: {labels: {validatedAnnotations: a}}", nil, ""},
		{"a number", podHead + "spec: {validatedAnnotations: {a: 1}}", nil, `the identities that the Pod carries are not known: spec.validatedAnnotations.a: the value of the identity "a" is not a string; put it in quotes`},
		{"a string", podHead + "spec: {validatedAnnotations: a}", nil, "the identities that the Pod carries are not known: spec.validatedAnnotations: something else was found, a list of keys with their values belongs here"},
		{"a list of strings", podHead + "spec: {validatedAnnotations: [a]}", nil, "the identities that the Pod carries are not known: spec.validatedAnnotations[0]: something else was found, a key with its value belongs here"},
		{"a star as the key", podHead + "spec: {validatedAnnotations: {'*': a}}", []string{`spec.validatedAnnotations["*"]: *="a"; its key is not a key`}, ""},
		{"a star as the value", podHead + "spec: {validatedAnnotations: {a: '*'}}", []string{`spec.validatedAnnotations.a: a="*"; its value contains "*", which stands for every value in a permission`}, ""},
		{"a source's key has the source's form", podHead + "spec: {validatedAnnotations: {arn: a/b}}", []string{`spec.validatedAnnotations.arn: arn="a/b"`}, ""},
		{"the annotation", podHead + `metadata: {annotations: {sallyport.io/validated-annotations: '[{"a":"v"}]'}}`, []string{`metadata.annotations["sallyport.io/validated-annotations"][0].a: a="v"`}, ""},
		{"the annotation is not JSON", podHead + `metadata: {annotations: {sallyport.io/validated-annotations: 'a: v'}}`, nil, "*"},
		{"the annotation says one key twice", podHead + `metadata: {annotations: {sallyport.io/validated-annotations: '{"a":"x","a":"v"}'}}`, nil, "*"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := setOf(t, "{key: arn, reviewForm: Resource, podAnnotation: {name: example.com/arn}}")
			got, err := set.OfObject(t.Context(), objectOf(t, tt.object), "team", nil)
			if text := errText(err); text != tt.err && (tt.err != "*" || err == nil) {
				t.Errorf("error %q, want %q", text, tt.err)
			}
			for i := range got {
				if len(got[i].Fault) > len("its key is not a key") && got[i].Fault[:3] == "its" && got[i].Key == "*" {
					got[i].Fault = "its key is not a key"
				}
			}
			if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDocumentFieldEscaped writes the field's name with escapes.
func TestDocumentFieldEscaped(t *testing.T) {
	raw := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"x":"\u003cb\u003e"}},"spec":{"validated\u0041nnotations":{"kerberos":"root"}}}`)
	o, err := pod.Default().Decode(schema.GroupVersionKind{}, raw)
	if err != nil {
		t.Fatal(err)
	}
	got, err := (*Set)(nil).OfObject(t.Context(), o, "team", nil)
	if err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if mentions([]byte(`{"a":"\u003cb\u003e \u00`)) {
		t.Error("escapes of other characters count")
	}
}

func TestCarry(t *testing.T) {
	raw, err := yaml.YAMLToJSON([]byte(documentPod))
	if err != nil {
		t.Fatal(err)
	}
	p := &corev1.Pod{}
	if err := json.Unmarshal(raw, p); err != nil {
		t.Fatal(err)
	}
	if err := Carry(raw, p); err != nil {
		t.Fatal(err)
	}
	live := pod.FromPod(p)
	got, err := setOf(t).OfPod(t.Context(), &live, "team", nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := setOf(t).OfObject(t.Context(), objectOf(t, documentPod), "team", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := Compare(want, got); d.Changed() || len(d.Same) != 2 {
		t.Errorf("carried %v, written %v", got, want)
	}
	if err := Carry(raw, p); err == nil {
		t.Error("the field and the annotation were taken together")
	}
	for _, spec := range []string{`"a"`, `{"a":1}`, `[1]`} {
		if err := Carry([]byte(`{"spec":{"validatedAnnotations":`+spec+`}}`), &corev1.Pod{}); err == nil {
			t.Errorf("%s was accepted", spec)
		}
	}
	plain := &corev1.Pod{}
	if err := Carry([]byte(`{"spec":{}}`), plain); err != nil || plain.Annotations != nil {
		t.Errorf("a pod without the field: %v, %v", plain.Annotations, err)
	}
}

func TestOfAnnotations(t *testing.T) {
	got, err := everySource(t).OfAnnotations(map[string]string{"kerberos": "a", "other": "b", v1alpha1.AnnotationValidatedAnnotations: `{"x":"y"}`})
	want := []string{`metadata.annotations.kerberos: kerberos="a"`, `metadata.annotations["sallyport.io/validated-annotations"].x: x="y"`}
	if diff := cmp.Diff(want, lines(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
