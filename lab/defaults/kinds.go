package defaults

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/generated/openapi"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	// The kinds that an API server serves.
	_ "k8s.io/kubernetes/pkg/controlplane"
)

// kind is a kind that objects are written of, with the Go type that it is read
// into.
type kind struct {
	schema.GroupVersionKind
	typ reflect.Type
}

var stable = regexp.MustCompile(`^v[0-9]+$`)

// kinds are all kinds that have metadata of their own, in every stable version that
// both the API server and its clients have types for.
func kinds() []kind {
	var found []kind
	for gvk, typ := range legacyscheme.Scheme.AllKnownTypes() {
		meta, ok := typ.FieldByName("ObjectMeta")
		if !ok || meta.Type != reflect.TypeFor[metav1.ObjectMeta]() || !meta.Anonymous ||
			!stable.MatchString(gvk.Version) || !clientgoscheme.Scheme.Recognizes(gvk) {
			continue
		}
		found = append(found, kind{gvk, typ})
	}
	slices.SortFunc(found, func(a, b kind) int { return strings.Compare(a.text(), b.text()) })
	return found
}

// text is the kind as "GROUP/VERSION KIND".
func (k kind) text() string { return k.GroupVersion().String() + " " + k.Kind }

// field is a field of a struct as JSON knows it.
type field struct {
	index int
	// name is empty for a struct whose fields stand beside the others.
	name string
	typ  reflect.Type
}

// fields of a struct, those of JSON.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		fields = append(fields, field{i, name, f.Type})
	}
	return fields
}

// below is the struct that stands in a type, behind pointers and lists.
// elements says whether a list is passed on the way.
func below(t reflect.Type) (at reflect.Type, elements bool) {
	for {
		switch t.Kind() {
		case reflect.Pointer:
			t = t.Elem()
		case reflect.Slice:
			t, elements = t.Elem(), true
		default:
			return t, elements
		}
	}
}

// isLeaf reports whether a struct is written as one value, or holds nothing that
// is ever filled in.
func isLeaf(t reflect.Type) bool {
	return t.Kind() != reflect.Struct || strings.HasPrefix(t.PkgPath(), "k8s.io/apimachinery/")
}

// nameOf a type, such as core/v1.Container.
func nameOf(t reflect.Type) string {
	return strings.TrimPrefix(t.PkgPath(), "k8s.io/api/") + "." + t.Name()
}

// enums finds the values that the API lists for a field.
type enums struct {
	schemas map[string]common.OpenAPIDefinition
}

func newEnums() enums {
	return enums{openapi.GetOpenAPIDefinitions(func(string) spec.Ref { return spec.Ref{} })}
}

// unlisted are values that a field takes, and that no schema lists.
var unlisted = map[string][]string{
	"rbac/v1.Subject.kind": {"User", "Group", "ServiceAccount"},
}

func (e enums) of(t reflect.Type, name string) []string {
	if values, ok := unlisted[nameOf(t)+"."+name]; ok {
		return values
	}
	named, ok := reflect.New(t).Interface().(interface{ OpenAPIModelName() string })
	if !ok {
		return nil
	}
	var values []string
	for _, value := range e.schemas[named.OpenAPIModelName()].Schema.Properties[name].Enum {
		if s, ok := value.(string); ok && s != "" {
			values = append(values, s)
		}
	}
	return values
}
