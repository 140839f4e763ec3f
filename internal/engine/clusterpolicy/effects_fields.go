package clusterpolicy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/sallyport-io/sallyport/internal/identity"
	"github.com/sallyport-io/sallyport/internal/rules/effect"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/pattern"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// typesOf are the Go types of the kinds of Kubernetes, in every version, by kind.
var typesOf = sync.OnceValue(func() map[string][]reflect.Type {
	types := map[string][]reflect.Type{}
	for gvk, is := range scheme.Scheme.AllKnownTypes() {
		if match.BuiltInGroup(gvk.Group) {
			types[gvk.Kind] = append(types[gvk.Kind], is)
		}
	}
	return types
})

// fieldsUnknown says which fields of the patterns none of the kinds has that the rule
// names. Nothing is said where one of them is not a kind of Kubernetes.
func (r *Rule) fieldsUnknown(v *apiextensionsv1.JSON, at *field.Path) []effect.Note {
	var types []reflect.Type
	known := true
	r.Match.Kinds(nil, func(k match.Kind, _ *field.Path) {
		name, _ := k.Exact()
		own := k.Subresource() == ""
		if k.Subresource() == ScaleSubresource {
			name, own = "Scale", true
		}
		of := typesOf()[name]
		known = known && k.BuiltIn() && own && len(of) > 0
		types = append(types, of...)
	})
	if !known || len(types) == 0 || v == nil {
		return nil
	}
	// One that cannot be read is refused where it is compiled, and holds no field here.
	tree, _ := decodePattern(v, at)
	u := unknownFields{of: strings.Join(r.Match.KindNames(), ", ")}
	u.look(tree, types, at)
	return u.notes
}

// unknownFields collects the fields of a pattern that no type has.
type unknownFields struct {
	of    string
	notes []effect.Note
}

func (u *unknownFields) look(value any, types []reflect.Type, at *field.Path) {
	switch v := value.(type) {
	case []any:
		for i := range v {
			u.look(v[i], types, at.Index(i))
		}
	case map[string]any:
		fields, closed := FieldsOf(types)
		if !closed {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name := pattern.FieldOf(key)
			below := fields[name]
			path := at.Child(key)
			switch {
			case name == identity.DocumentField:
			case below != nil:
				u.look(v[key], below, path)
			default:
				hint := ""
				if near := apijson.Nearest(name, fields); near != "" {
					hint = fmt.Sprintf("; write %s", near)
				}
				u.notes = append(u.notes, effect.FieldUnknown.Note(path, u.of, name, hint))
			}
		}
	}
}

// FieldsOf are the fields that some of the types have, by their names in JSON. closed
// is false where one of the types can have any.
func FieldsOf(types []reflect.Type) (fields map[string][]reflect.Type, closed bool) {
	fields = map[string][]reflect.Type{}
	for _, is := range types {
		for is.Kind() == reflect.Pointer || is.Kind() == reflect.Slice {
			is = is.Elem()
		}
		if is.Kind() != reflect.Struct || reflect.PointerTo(is).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return nil, false
		}
		addFields(fields, is)
	}
	return fields, true
}

func addFields(into map[string][]reflect.Type, is reflect.Type) {
	for i := range is.NumField() {
		f := is.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name != "" && name != "-":
			into[name] = append(into[name], f.Type)
		case name == "" && f.Anonymous:
			addFields(into, f.Type)
		}
	}
}
