package match

import (
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestOwnKindsHaveTheScopeOfTheirDefinitions holds what is known of our kinds to the
// definitions that are installed.
func TestOwnKindsHaveTheScopeOfTheirDefinitions(t *testing.T) {
	files, err := filepath.Glob("../../../config/crd/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(content, &definition); err != nil {
			t.Fatal(err)
		}
		kind := definition.Spec.Names.Kind
		seen[kind] = true
		wide := definition.Spec.Scope == apiextensionsv1.ClusterScoped
		entry, err := ParseKind(kind)
		if err != nil {
			t.Fatal(err)
		}
		if got := ClusterScoped(schema.GroupKind{Group: "sallyport.io", Kind: kind}); got != wide || entry.ClusterScoped() != wide {
			t.Errorf("%s is read as cluster-wide: %v, %v", kind, got, entry.ClusterScoped())
		}
		if got := v1alpha1.Plural(kind); got != definition.Spec.Names.Plural {
			t.Errorf("%s is read as the resource %s", kind, got)
		}
	}
	for _, kind := range v1alpha1.Kinds() {
		if !seen[kind] {
			t.Errorf("%s has no definition", kind)
		}
	}
	if len(v1alpha1.Kinds()) != len(seen) {
		t.Errorf("%v are registered", v1alpha1.Kinds())
	}
}

// TestClusterScoped looks at kinds of Kubernetes, ours and others.
func TestClusterScoped(t *testing.T) {
	for entry, want := range map[string]bool{
		"Node": true, "Namespace": true, "v1/Node": true, "ClusterRole": true, "rbac.authorization.k8s.io/v1/ClusterRole": true,
		"DenyPolicy": true, "ExceptionPolicy": true, "ClusterPolicyException": true, "PriorityLevelConfiguration": true,
		"Pod": false, "PolicyException": false, "example.com/v1/Node": true, "Node*": false, "*": false, "Deployment": false,
	} {
		kind, err := ParseKind(entry)
		if err != nil {
			t.Errorf("%s: %v", entry, err)
			continue
		}
		if got := kind.ClusterScoped(); got != want {
			t.Errorf("%s: %v, want %v", entry, got, want)
		}
	}
	if !ClusterScoped(schema.GroupKind{Group: "sallyport.io", Kind: "PolicyExceptionResponse"}) || ClusterScoped(schema.GroupKind{Kind: "DenyPolicy"}) {
		t.Error("kinds are told apart by their groups")
	}
}
