package defaults

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// withUnknown puts fields that the type does not have back to where they were
// written.
func withUnknown(full, raw []byte, t reflect.Type) ([]byte, error) {
	tree, err := apijson.Tree(full)
	if err != nil {
		return nil, err
	}
	written, err := apijson.Tree(raw)
	if err != nil {
		return nil, err
	}
	keep(tree, written, t)
	return apijson.Marshal(tree)
}

func keep(full, written any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch into := full.(type) {
	case map[string]any:
		from, ok := written.(map[string]any)
		if !ok || readsItself(t) {
			return
		}
		for name, value := range from {
			of, known := fieldType(t, name)
			switch there, ok := into[name]; {
			case !known:
				into[name] = value
			case ok:
				keep(there, value, of)
			}
		}
	case []any:
		from, ok := written.([]any)
		if !ok || t.Kind() != reflect.Slice {
			return
		}
		for i := range min(len(into), len(from)) {
			keep(into[i], from[i], t.Elem())
		}
	}
}

// readsItself reports whether a type says itself what it reads.
func readsItself(t reflect.Type) bool {
	return t.Kind() != reflect.Struct && t.Kind() != reflect.Map || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// fieldType is the type of a field; known is false for a name that a struct does
// not have.
func fieldType(t reflect.Type, name string) (of reflect.Type, known bool) {
	if t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	for i := range t.NumField() {
		f := t.Field(i)
		got, ok := jsonName(f)
		if !ok {
			continue
		}
		if got == name {
			return f.Type, true
		}
		if got == "" && strings.Contains(f.Tag.Get("json"), "inline") {
			if of, known := fieldType(f.Type, name); known {
				return of, true
			}
		}
	}
	return nil, false
}

// withNamespace gives an object of any kind the namespace of its request, if it
// names none.
func withNamespace(raw []byte, namespace string) ([]byte, error) {
	if namespace == "" {
		return raw, nil
	}
	var object map[string]apijson.Raw
	if err := apijson.Unmarshal(raw, &object); err != nil || object == nil {
		return raw, err
	}
	metadata := map[string]apijson.Raw{}
	if found := object["metadata"]; !found.IsNull() {
		if err := apijson.Unmarshal(found, &metadata); err != nil {
			return nil, below("metadata", err)
		}
	}
	if named := metadata["namespace"]; !named.IsNull() && string(named) != `""` {
		return raw, nil
	}
	var err error
	if metadata["namespace"], err = apijson.Marshal(namespace); err != nil {
		return nil, err
	}
	if object["metadata"], err = apijson.Marshal(metadata); err != nil {
		return nil, err
	}
	return apijson.Marshal(object)
}

func below(path string, err error) error {
	all := apijson.ErrorsOf(err)
	if len(all) == 0 {
		return err
	}
	return &apijson.Error{Path: strings.TrimSuffix(path+"."+all[0].Path, "."), Detail: all[0].Detail, Err: err}
}
