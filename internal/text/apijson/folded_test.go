package apijson

import (
	"encoding/json"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestFolded finds every name that encoding/json takes for a field whose name it
// is not, and none beside.
func TestFolded(t *testing.T) {
	for _, c := range []struct{ name, data, path string }{
		{"right", `{"spec":{"template":{"metadata":{"annotations":{"A":"b"},"labels":{"Metadata":"x"}},"spec":{"containers":[{"image":"x"}]}}}}`, ""},
		{"at the root", `{"Spec":{}}`, "Spec"},
		{"inside", `{"spec":{"template":{"Metadata":{}}}}`, "spec.template.Metadata"},
		{"in embedded fields", `{"spec":{"template":{"spec":{"volumes":[{"name":"a"},{"ConfigMap":{}}]}}}}`, "spec.template.spec.volumes[1].ConfigMap"},
		{"in a list", `{"spec":{"template":{"spec":{"containers":[{"name":"a"},{"IMAGE":"x"}]}}}}`, "spec.template.spec.containers[1].IMAGE"},
		{"beside the right one", `{"spec":{"template":{"spec":{"serviceAccountName":"a","ServiceAccountName":"b"}}}}`, "spec.template.spec.ServiceAccountName"},
		{"a long s", `{"spec":{"template":{"metadata":{"annotation\u017f":{}}}}}`, `spec.template.metadata["annotationſ"]`},
		{"the sign for kelvin", `{"\u212Aind":"x"}`, "[\"\u212aind\"]"},
		{"an escape", `{"\u0053pec":{}}`, "Spec"},
		{"an unknown name", `{"spec":{"other":{"Spec":1}}}`, ""},
		{"a value of another kind", `{"spec":[{"Template":1}]}`, ""},
		{"broken off", `{"spec":{"template":`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Folded([]byte(c.data), reflect.TypeFor[appsv1.StatefulSet]())
			path := ""
			if err != nil {
				path = err.Path
			}
			if path != c.path {
				t.Errorf("%q, want %q", path, c.path)
			}
		})
	}
}

// TestFoldAsTheStandardLibraryDoes tries every letter that folds into one of the
// alphabet.
func TestFoldAsTheStandardLibraryDoes(t *testing.T) {
	type field struct {
		Field string `json:"mask"`
	}
	for r := rune(1); r < 0x3000; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		for i := range "mask" {
			name := "mask"[:i] + string(r) + "mask"[i+1:]
			raw, err := json.Marshal(map[string]string{name: "taken"})
			if err != nil {
				t.Fatal(err)
			}
			var got field
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			if taken := got.Field != ""; taken != (Fold(name) == Fold("mask")) {
				t.Errorf("%q is taken for mask: %t", name, taken)
			}
		}
	}
}
