package apijson

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxWrong bounds how many errors are reported at once.
const maxWrong = 20

// wrongFields finds every name in data that the type t, or a type within it,
// does not have, and every value that it cannot take. data was found to be JSON,
// as far as the first of them at least.
func wrongFields(data []byte, t reflect.Type) Errors {
	s := wrongSearch{dec: jsontext.NewDecoder(bytes.NewReader(data), lenient)}
	s.value(t, "")
	return s.found
}

type wrongSearch struct {
	dec   *jsontext.Decoder
	found Errors
}

// value reads the next value, which is for the type t, and reports whether to go
// on.
func (s *wrongSearch) value(t reflect.Type, path string) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return s.dec.SkipValue() == nil
	}
	if readsItself(t) {
		return s.leaf(t, path)
	}
	switch kind := s.dec.PeekKind(); {
	case kind == '{' && t.Kind() == reflect.Struct:
		fields := fieldsOf(t)
		return s.object(func(name string) bool {
			field, ok := fields[name]
			if !ok {
				return s.add(&Error{Path: Child(path, name), Detail: unknownDetail(name, t)}) && s.dec.SkipValue() == nil
			}
			return s.value(field, Child(path, name))
		})
	case kind == '{' && t.Kind() == reflect.Map:
		return s.object(func(name string) bool { return s.value(t.Elem(), Child(path, name)) })
	case kind == '[' && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		return s.list(t.Elem(), path)
	default:
		return s.leaf(t, path)
	}
}

// leaf reads the next value in one piece.
func (s *wrongSearch) leaf(t reflect.Type, path string) bool {
	raw, err := s.dec.ReadValue()
	if err != nil {
		return false
	}
	for _, e := range ErrorsOf(unmarshal(raw, reflect.New(t).Interface(), strict)) {
		if !s.add(&Error{Path: below(path, e.Path), Detail: e.Detail, Err: e.Err}) {
			return false
		}
	}
	return true
}

// add reports whether there is room for more.
func (s *wrongSearch) add(e *Error) bool {
	s.found = append(s.found, e)
	return len(s.found) < maxWrong
}

// below joins a path and one that is relative to it.
func below(path, relative string) string {
	if path == "" || relative == "" || relative[0] == '[' {
		return path + relative
	}
	return path + "." + relative
}

func (s *wrongSearch) object(field func(name string) bool) bool {
	if _, err := s.dec.ReadToken(); err != nil {
		return false
	}
	for s.dec.PeekKind() == '"' {
		token, err := s.dec.ReadToken()
		if err != nil || !field(token.String()) {
			return false
		}
	}
	_, err := s.dec.ReadToken()
	return err == nil
}

func (s *wrongSearch) list(element reflect.Type, path string) bool {
	if _, err := s.dec.ReadToken(); err != nil {
		return false
	}
	for i := 0; s.dec.PeekKind() != ']'; i++ {
		if !s.value(element, Element(path, i)) {
			return false
		}
	}
	_, err := s.dec.ReadToken()
	return err == nil
}

// fieldsOf lists the JSON names of a struct, those of embedded structs among
// them, with their types.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			if embedded.Kind() != reflect.Struct {
				continue
			}
			for inner, typ := range fieldsOf(embedded) {
				if _, taken := fields[inner]; !taken {
					fields[inner] = typ
				}
			}
		case name == "":
			fields[f.Name] = f.Type
		default:
			fields[name] = f.Type
		}
	}
	return fields
}

// unknownDetail says that the struct t has no field name, and which one comes
// close.
func unknownDetail(name string, t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return "unknown field"
	}
	if near := Nearest(name, fieldsOf(t)); near != "" {
		return fmt.Sprintf("unknown field, did you mean %q?", near)
	}
	return "unknown field"
}
