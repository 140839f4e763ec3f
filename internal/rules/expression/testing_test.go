package expression_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/expression"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// tree reads YAML as the engine reads JSON.
func tree(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object, err := apijson.Tree(data)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// web is the pod that most tests are about.
const web = `
apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: shop
  labels: {app: web, tier: front}
  annotations: {"example.com/owner": "jane@example.com"}
spec:
  hostNetwork: false
  replicas: 3
  ratio: 0.5
  nothing: null
  containers:
  - {name: web, image: "registry.example/web:1.2", resources: {limits: {memory: 512Mi, cpu: 250m}}}
  - {name: sidecar, image: "registry.example/proxy:2"}
`

// input is what most tests evaluate about: jane updates web in namespace shop.
func input(t testing.TB) *expression.Input {
	t.Helper()
	old := tree(t, web)
	old["spec"].(map[string]any)["replicas"] = int64(2)
	return &expression.Input{
		Object: tree(t, web), OldObject: old,
		Request: &expression.Request{
			Kind:      schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Resource:  schema.GroupVersionResource{Version: "v1", Resource: "pods"},
			Name:      "web-0",
			Namespace: "shop",
			Operation: request.Update,
			UserInfo:  request.User{Name: "jane", UID: "7", Groups: []string{"dev", "ops"}, Extra: map[string][]string{"scopes": {"a", "b"}}},
			Options:   map[string]any{"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl"},
		},
		Namespace: &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{
				Name: "shop", UID: "42", Labels: map[string]string{"env": "prod"},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "secret"}},
			},
			Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		},
	}
}

// requirements is a validation of expressions without messages.
func requirements(expressions ...string) *v1alpha1.CELValidation {
	v := &v1alpha1.CELValidation{}
	for _, e := range expressions {
		v.Expressions = append(v.Expressions, v1alpha1.CELExpression{Expression: e})
	}
	return v
}

// withVariables adds variables, a name and an expression each.
func withVariables(v *v1alpha1.CELValidation, variables ...string) *v1alpha1.CELValidation {
	for i := 0; i < len(variables); i += 2 {
		v.Variables = append(v.Variables, v1alpha1.CELVariable{Name: variables[i], Expression: variables[i+1]})
	}
	return v
}

// compiled compiles what has to compile.
func compiled(t testing.TB, v *v1alpha1.CELValidation) *expression.Validation {
	t.Helper()
	c, problems := expression.CompileValidation(v, field.NewPath("cel"))
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return c
}

// hasAll holds an error against what has to stand in it. No wanted part: there
// must be no error.
func hasAll(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil || len(parts) == 0 {
		if err != nil || len(parts) > 0 {
			t.Errorf("error %v, want one with %q", err, parts)
		}
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q leaves out %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q has more than one line", err)
	}
}
