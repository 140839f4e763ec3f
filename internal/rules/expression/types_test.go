package expression

import (
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	plugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// TestDeclaredTypes holds the types of request and namespaceObject to those that
// an API server declares, field by field.
func TestDeclaredTypes(t *testing.T) {
	want := map[string]map[string]string{variablesTypeName: {}}
	for _, declared := range []*apiservercel.DeclType{plugin.BuildRequestType(), plugin.BuildNamespaceType()} {
		collect(declared, want)
	}
	metadata := want["kubernetes.NamespaceMetadata"]
	metadata["uid"] = metadata["UID"]
	delete(metadata, "UID")

	got := map[string]map[string]string{}
	for name, fields := range declaredTypes() {
		got[name] = map[string]string{}
		for field, fieldType := range fields {
			got[name][field] = fieldType.String()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-API server +ours:\n%s", diff)
	}
}

func collect(declared *apiservercel.DeclType, into map[string]map[string]string) {
	if declared.IsList() {
		collect(declared.ElemType, into)
	}
	if !declared.IsObject() {
		return
	}
	fields := map[string]string{}
	into[declared.TypeName()] = fields
	for name, field := range declared.Fields {
		fields[name] = field.Type.CelType().String()
		collect(field.Type, into)
	}
}

// TestFieldNames holds that the compiler is told the fields of our types, and of
// those of others.
func TestFieldNames(t *testing.T) {
	e, err := admission()
	if err != nil {
		t.Fatal(err)
	}
	names, ok := e.types.FindStructFieldNames("kubernetes.GroupVersionKind")
	if diff := cmp.Diff([]string{"group", "kind", "version"}, names); diff != "" || !ok {
		t.Errorf("found %v, -want +got:\n%s", ok, diff)
	}
	if _, ok := e.types.FindStructFieldNames("no.such.Type"); ok {
		t.Error("a type was found that there is not")
	}
	if _, ok := e.types.FindStructType("no.such.Type"); ok {
		t.Error("a type was found that there is not")
	}
	if _, ok := e.types.FindStructFieldType("no.such.Type", "x"); ok {
		t.Error("a field was found that there is not")
	}
}

// TestAnotherName holds that a variable with functions can be added to the
// environment, whose functions get what they are about from its value.
func TestAnotherName(t *testing.T) {
	e, err := admission()
	if err != nil {
		t.Fatal(err)
	}
	env, err := e.env.Extend(cel.Variable("other", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	if x, problem := (&environment{env: env, types: e.types, guard: e.guard}).compile("other.x == object.x", cel.BoolType, nil); problem != nil || x == nil {
		t.Errorf("compiled to %v with error %v", x, problem)
	}
}
