package convert

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// withField makes an object with one field, of which the key of a table is given,
// and returns it with its kind.
func withField(t *testing.T, key string, value any) (schema.GroupVersionKind, []byte) {
	t.Helper()
	root, shape, _ := strings.Cut(key, ".")
	gvk := schema.GroupVersionKind{Group: Group, Version: "v1", Kind: "ClusterPolicy"}
	switch root {
	case "exception":
		gvk.Kind = "PolicyException"
	case "metadata":
		shape = key
	}
	names := strings.Split(shape, ".")
	if inner, ok := strings.CutPrefix(shape, "metadata.annotations."); ok {
		names = []string{"metadata", "annotations", inner}
	}
	slices.Reverse(names)
	for _, name := range names {
		field, isList := strings.CutSuffix(name, "[]")
		if isList {
			value = []any{value}
		}
		value = map[string]any{field: value}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return gvk, raw
}

// TestTables makes sure that every field of the tables is reached at the path
// that stands there, and that no field is in both.
func TestTables(t *testing.T) {
	for _, key := range slices.Sorted(maps.Keys(droppedFields)) {
		gvk, raw := withField(t, key, "x")
		object, err := Read(gvk, raw)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if len(object.Dropped) != 1 || object.Dropped[0].Why != droppedFields[key] || object.Dropped[0].Why == "" {
			t.Errorf("%s: was not left out for a reason: %v", key, object.Dropped)
		}
		if strings.Contains(string(object.Raw), `"x"`) {
			t.Errorf("%s: is there still: %s", key, object.Raw)
		}
		if _, both := lackingFields[key]; both {
			t.Errorf("%s: is in both tables", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(lackingFields)) {
		gvk, raw := withField(t, key, "x")
		if _, err := Read(gvk, raw); err == nil || !strings.Contains(err.Error(), lackingFields[key]) {
			t.Errorf("%s: got %v", key, err)
		}
	}
}

// FuzzRead makes sure that nothing makes Read panic, and that it gives an object
// or says why not.
func FuzzRead(f *testing.F) {
	for _, key := range []string{"policy.spec.rules[].validate.cel.expressions[].reason", "policy.spec.rules[].mutate", "exception.spec.background", "metadata.uid"} {
		root, shape, _ := strings.Cut(key, ".")
		f.Add(root == "exception", []byte(`{"`+shape+`":1}`))
	}
	f.Add(false, []byte(`{"metadata":{"name":"p","annotations":{"pod-policies.kyverno.io/autogen-controllers":"none"}},"spec":{"emitWarning":true,"applyRules":"One","webhookConfiguration":{"failurePolicy":"Fail"},"validationFailureActionOverrides":[{"action":"audit"}],"rules":[{"name":"r","match":{"any":[{"resources":{"kinds":["Pod.exec",1]}}]},"exclude":{"resources":{}},"validate":{"failureActionOverrides":[{}],"pattern":{"a":["{{b}}",{"$(c)":null}]}}}]}}`))
	f.Add(true, []byte(`{"spec":{"exceptions":[{"policyName":"a/b","ruleNames":["*"]}],"match":{"all":[null]},"podSecurity":[{"controlName":"Sysctls"}]}}`))
	f.Fuzz(func(t *testing.T, exception bool, raw []byte) {
		gvk := schema.GroupVersionKind{Group: Group, Version: "v1", Kind: "ClusterPolicy"}
		if exception {
			gvk.Kind = "PolicyException"
		}
		object, err := Read(gvk, raw)
		if (object == nil) == (err == nil) {
			t.Fatalf("gives either an object or an error, not %v and %v", object, err)
		}
		if object == nil {
			return
		}
		if !json.Valid(object.Raw) {
			t.Fatalf("no JSON: %s", object.Raw)
		}
		if _, err := YAML(object); err != nil {
			t.Fatal(err)
		}
	})
}
