package expression

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// The types of what is not free JSON. Their names show in what the compiler says.
const (
	requestTypeName   = "kubernetes.AdmissionRequest"
	namespaceTypeName = "kubernetes.Namespace"
	variablesTypeName = "kubernetes.variables"
)

// declaredTypes are the types of request and namespaceObject, with their fields.
//
// A ValidatingAdmissionPolicy calls the uid of a namespace UID and gives it no
// value under that name, so that no such expression can be evaluated. Here it is
// uid, and UID is refused.
func declaredTypes() map[string]map[string]*cel.Type {
	texts := cel.ListType(cel.StringType)
	object := cel.ObjectType
	return map[string]map[string]*cel.Type{
		requestTypeName: {
			"kind":               object("kubernetes.GroupVersionKind"),
			"resource":           object("kubernetes.GroupVersionResource"),
			"subResource":        cel.StringType,
			"requestKind":        object("kubernetes.GroupVersionKind"),
			"requestResource":    object("kubernetes.GroupVersionResource"),
			"requestSubResource": cel.StringType,
			"name":               cel.StringType,
			"namespace":          cel.StringType,
			"operation":          cel.StringType,
			"userInfo":           object("kubernetes.UserInfo"),
			"dryRun":             cel.BoolType,
			"options":            cel.DynType,
		},
		"kubernetes.GroupVersionKind":     {"group": cel.StringType, "version": cel.StringType, "kind": cel.StringType},
		"kubernetes.GroupVersionResource": {"group": cel.StringType, "version": cel.StringType, "resource": cel.StringType},
		"kubernetes.UserInfo": {
			"username": cel.StringType,
			"uid":      cel.StringType,
			"groups":   texts,
			"extra":    cel.MapType(cel.StringType, texts),
		},
		namespaceTypeName: {
			"metadata": object("kubernetes.NamespaceMetadata"),
			"spec":     object("kubernetes.NamespaceSpec"),
			"status":   object("kubernetes.NamespaceStatus"),
		},
		"kubernetes.NamespaceMetadata": {
			"name":                       cel.StringType,
			"generateName":               cel.StringType,
			"namespace":                  cel.StringType,
			"labels":                     cel.MapType(cel.StringType, cel.StringType),
			"annotations":                cel.MapType(cel.StringType, cel.StringType),
			"uid":                        cel.StringType,
			"creationTimestamp":          cel.TimestampType,
			"deletionGracePeriodSeconds": cel.IntType,
			"deletionTimestamp":          cel.TimestampType,
			"generation":                 cel.IntType,
			"resourceVersion":            cel.StringType,
			"finalizers":                 texts,
		},
		"kubernetes.NamespaceSpec": {"finalizers": texts},
		"kubernetes.NamespaceStatus": {
			"conditions": cel.ListType(object("kubernetes.NamespaceCondition")),
			"phase":      cel.StringType,
		},
		"kubernetes.NamespaceCondition": {
			"status":             cel.StringType,
			"type":               cel.StringType,
			"lastTransitionTime": cel.TimestampType,
			"message":            cel.StringType,
			"reason":             cel.StringType,
		},
		variablesTypeName: {},
	}
}

// structs adds types with fields to those of another provider. Values of these
// types are maps.
type structs struct {
	types.Provider
	fields map[string]map[string]*cel.Type
}

// with returns the same types except for one, which has these fields.
func (s structs) with(name string, fields map[string]*cel.Type) structs {
	all := maps.Clone(s.fields)
	all[name] = fields
	return structs{Provider: s.Provider, fields: all}
}

// FindStructType returns the type of that name.
func (s structs) FindStructType(name string) (*cel.Type, bool) {
	if _, ok := s.fields[name]; ok {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return s.Provider.FindStructType(name)
}

// FindStructFieldNames returns the names of a type's fields, sorted.
func (s structs) FindStructFieldNames(name string) ([]string, bool) {
	if fields, ok := s.fields[name]; ok {
		return slices.Sorted(maps.Keys(fields)), true
	}
	return s.Provider.FindStructFieldNames(name)
}

// FindStructFieldType returns the type of a type's field.
func (s structs) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	fields, ok := s.fields[name]
	if !ok {
		return s.Provider.FindStructFieldType(name, field)
	}
	fieldType, ok := fields[field]
	return &types.FieldType{Type: fieldType}, ok
}
