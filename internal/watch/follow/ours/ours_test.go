package ours

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/sallyport-io/sallyport/api/v1alpha1"
)

// TestMapper holds what is known of our kinds without asking to the definitions.
func TestMapper(t *testing.T) {
	files, err := filepath.Glob("../../../../config/crd/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatal(files, err)
	}
	mapper := Mapper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Metadata struct{ Name string }
			Spec     struct {
				Group, Scope string
				Names        struct{ Kind, Plural string }
			}
		}
		if err := yaml.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		if got := Resource(d.Spec.Names.Kind); got != d.Metadata.Name {
			t.Errorf("%s is called %s, want %s", d.Spec.Names.Kind, got, d.Metadata.Name)
		}
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}, v1alpha1.GroupVersion.Version)
		if err != nil {
			t.Error(err)
			continue
		}
		want := meta.RESTScopeNameRoot
		if d.Spec.Scope == "Namespaced" {
			want = meta.RESTScopeNameNamespace
		}
		if mapping.Resource.Resource != d.Spec.Names.Plural || mapping.Scope.Name() != want {
			t.Errorf("%s: %v in scope %s", d.Metadata.Name, mapping.Resource, mapping.Scope.Name())
		}
	}
}
