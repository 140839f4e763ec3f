package apijson

import (
	"encoding"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxTreeDepth is how deep a tree may be nested. No kind of the API comes near
// it; it bounds the stack and the memory that a small input can ask for.
const MaxTreeDepth = 1000

// Tree reads the one JSON object in data into maps, slices and scalars, as
// unstructured objects of the API have them: a number is an int64 if it is
// written as a whole number and fits, and a float64 otherwise.
func Tree(data []byte) (map[string]any, error) {
	var t tree
	if err := json.Unmarshal(data, &t, base); err != nil {
		return nil, explain(data, err)
	}
	m, ok := t.value.(map[string]any)
	if !ok {
		return nil, &Error{Detail: fmt.Sprintf("found %s, an object belongs here", kindOf(t.value))}
	}
	return m, nil
}

// tree makes json.Unmarshal read any value as a tree, with its pooled decoder.
type tree struct{ value any }

// UnmarshalJSONFrom reads the next value.
func (t *tree) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := treeValue(dec, 0)
	t.value = v
	return err
}

func treeValue(dec *jsontext.Decoder, depth int) (any, error) {
	if depth > MaxTreeDepth {
		return nil, &json.SemanticError{JSONPointer: dec.StackPointer(), Err: errTooDeep}
	}
	switch dec.PeekKind() {
	case '{':
		return treeObject(dec, depth)
	case '[':
		return treeArray(dec, depth)
	case '0':
		return treeNumber(dec)
	}
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '"':
		return token.String(), nil
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

func treeObject(dec *jsontext.Decoder, depth int) (any, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	m := map[string]any{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		// The token dies with the next read.
		key := name.String()
		v, err := treeValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		m[key] = v
	}
	_, err := dec.ReadToken()
	return m, err
}

func treeArray(dec *jsontext.Decoder, depth int) (any, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	list := []any{}
	for dec.PeekKind() != ']' {
		v, err := treeValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.ReadToken()
	return list, err
}

func treeNumber(dec *jsontext.Decoder) (any, error) {
	raw, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	text := string(raw)
	if !strings.Contains(text, ".") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, &json.SemanticError{
			JSONPointer: dec.StackPointer(), JSONKind: '0', GoType: reflect.TypeFor[float64](), Err: strconv.ErrRange,
		}
	}
	return f, nil
}

var treeTypes sync.Map // reflect.Type to bool

// holdsTree reports whether values of an interface type can be read into t. They
// need a function of their own, since numbers in them would lose their
// precision; looking for that function costs time at every field, which the
// types of the API, that hold none, do not pay.
func holdsTree(t reflect.Type) bool {
	if known, ok := treeTypes.Load(t); ok {
		return known.(bool)
	}
	holds := reachesInterface(t, map[reflect.Type]bool{})
	treeTypes.Store(t, holds)
	return holds
}

func reachesInterface(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || readsItself(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return reachesInterface(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && reachesInterface(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

var selfReading = []reflect.Type{
	reflect.TypeFor[stdjson.Unmarshaler](),
	reflect.TypeFor[json.UnmarshalerFrom](),
	reflect.TypeFor[encoding.TextUnmarshaler](),
}

// readsItself reports whether t or a pointer to it has a method that decodes it.
func readsItself(t reflect.Type) bool {
	for _, method := range selfReading {
		if t.Kind() != reflect.Interface && (t.Implements(method) || reflect.PointerTo(t).Implements(method)) {
			return true
		}
	}
	return false
}
