package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxUnknown bounds how many unknown names are reported at once.
const maxUnknown = 20

// unknownFields finds every name in data that the type t, or a type within it,
// does not have. data was found to be JSON, as far as the first of them at
// least.
func unknownFields(data []byte, t reflect.Type) Errors {
	s := unknownSearch{dec: jsontext.NewDecoder(bytes.NewReader(data), lenient)}
	s.value(t, "")
	return s.found
}

type unknownSearch struct {
	dec   *jsontext.Decoder
	found Errors
}

// value reads the next value, which is for the type t, and reports whether to go
// on.
func (s *unknownSearch) value(t reflect.Type, path string) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || readsItself(t) {
		return s.dec.SkipValue() == nil
	}
	switch kind := s.dec.PeekKind(); {
	case kind == '{' && t.Kind() == reflect.Struct:
		fields := fieldsOf(t)
		return s.object(func(name string) bool {
			field, ok := fields[name]
			if !ok {
				s.found = append(s.found, &Error{Path: Child(path, name), Detail: unknownDetail(name, t)})
				return s.dec.SkipValue() == nil && len(s.found) < maxUnknown
			}
			return s.value(field, Child(path, name))
		})
	case kind == '{' && t.Kind() == reflect.Map:
		return s.object(func(name string) bool { return s.value(t.Elem(), Child(path, name)) })
	case kind == '[' && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		return s.list(t.Elem(), path)
	default:
		return s.dec.SkipValue() == nil
	}
}

func (s *unknownSearch) object(field func(name string) bool) bool {
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

func (s *unknownSearch) list(element reflect.Type, path string) bool {
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
