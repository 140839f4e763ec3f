package apijson

import (
	"reflect"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
)

// whole are inputs that are odd as a whole.
var whole = []string{
	``, ` `, `null`, `{}`, `[]`, `"x"`, `1`, "\ufeff{}", `{}x`, `{} `, "\t{}\r\n", `{}{}`, `{}null`, `{"spec":`,
	`{"metadata":{"name":"a"},"Metadata":{"name":"b"}}`,
	`{"spec":{"containers":[{"name":"a","Image":"b","securityContext":{"Privileged":true}}]}}`,
	`{"spec":{"containers":[{"name":"a"}],"containers":[{"name":"b"}]}}`,
	`{"sp\u0065c":{"hostNetwork":true}}`, `{"spec":{"hostNetwork":true},"sp\u0065c":{}}`,
	`{"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"},"emptyDir":null}]}}`,
	`{"spec":{"nodeSelector":{"a":null,"b":"c"},"containers":[null,{"name":null}]}}`,
	`{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{},"f:a":{}}}]}}`,
	strings.Repeat(`[`, 20000), strings.Repeat(`{"a":`, 20000), strings.Repeat(`[`, 9999) + strings.Repeat(`]`, 9999),
	`{"x":` + strings.Repeat(`[`, 9998) + strings.Repeat(`]`, 9998) + `}`,
	`{"x":` + strings.Repeat(`[`, 10000) + strings.Repeat(`]`, 10000) + `}`,
}

func TestWholeInputs(t *testing.T) {
	for _, input := range whole {
		for _, typ := range decodedTypes {
			agree(t, []byte(input), typ)
		}
		agreeOnTree(t, []byte(input))
	}
}

func seed(f *testing.F, files ...string) {
	for _, name := range files {
		f.Add(read(f, name))
	}
	for _, input := range whole {
		if len(input) < 1000 {
			f.Add([]byte(input))
		}
	}
}

func FuzzUnmarshalPod(f *testing.F) {
	seed(f, "pod.json")
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data, reflect.TypeFor[corev1.Pod]()) })
}

func FuzzUnmarshalDeployment(f *testing.F) {
	seed(f, "deployment.json")
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data, reflect.TypeFor[appsv1.Deployment]()) })
}

func FuzzUnmarshalReview(f *testing.F) {
	seed(f, "review-update.json")
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data, reflect.TypeFor[admissionv1.AdmissionReview]()) })
}

func FuzzTree(f *testing.F) {
	seed(f, "pod.json", "deployment.json")
	for _, value := range oddValues {
		f.Add([]byte(`{"a":` + value + `,"b":[` + value + `]}`))
	}
	f.Fuzz(agreeOnTree)
}

// FuzzUnmarshalStrict checks that unknown names are found exactly where
// sigs.k8s.io/json finds some.
func FuzzUnmarshalStrict(f *testing.F) {
	seed(f, "pod.json")
	f.Add([]byte(`{"spec":{"containers":[{"nam":"a"}],"hostnetwork":true}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var ours, theirs corev1.Pod
		err := UnmarshalStrict(data, &ours)
		strictErrs, theirErr := kjson.UnmarshalStrict(data, &theirs)
		if refused := theirErr != nil || len(strictErrs) > 0 || hasDuplicates(data); refused != (err != nil) {
			t.Fatalf("%q: here %v, there %v and %v", data, err, theirErr, strictErrs)
		}
		if err == nil && !reflect.DeepEqual(ours, theirs) {
			t.Fatalf("%q: read differently", data)
		}
	})
}

func agreeOnTree(t *testing.T, data []byte) {
	t.Helper()
	ours, err := Tree(data)
	var theirs any
	theirErr := kjson.UnmarshalCaseSensitivePreserveInts(data, &theirs)
	m, isObject := theirs.(map[string]any)
	switch {
	case theirErr != nil || !isObject || hasDuplicates(data) || depth(theirs) > MaxTreeDepth:
		if err == nil {
			t.Fatalf("%.200q: read here, there %v", data, theirErr)
		}
	case err != nil:
		t.Fatalf("%.200q: read there, refused here: %v", data, err)
	case !reflect.DeepEqual(ours, m):
		t.Fatalf("%.200q: read differently: here %#v, there %#v", data, ours, m)
	}
}

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, 1+depth(e))
		}
	case []any:
		for _, e := range v {
			deepest = max(deepest, 1+depth(e))
		}
	}
	return deepest
}
