package apijson

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// Fold gives what names that differ only in case have in common, as encoding/json
// compares them: by every letter that Unicode folds into one, so that the long s
// and the sign for kelvin are an s and a k.
func Fold(name string) string { return strings.Map(foldRune, name) }

func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// Folded finds the first name in data that is the name of a field in another case,
// where the type t, or a type within it, has that field; nil where there is none.
// Decoders differ in what they make of such a name: those of the API server drop
// it, encoding/json takes it for the field.
func Folded(data []byte, t reflect.Type) *Error {
	s := foldSearch{dec: jsontext.NewDecoder(bytes.NewReader(data), lenient)}
	s.value(t, "")
	return s.found
}

// Misnamed is the error about a name that is that of a field in another case.
func Misnamed(path, name, field string) *Error {
	return &Error{
		Path:   Child(path, name),
		Detail: fmt.Sprintf("the field is written %q; a name that differs from it in case is read by some as that field, and by others not at all", field),
	}
}

type foldSearch struct {
	dec   *jsontext.Decoder
	found *Error
}

// value reads the next value, which is for the type t, and reports whether to go
// on.
func (s *foldSearch) value(t reflect.Type, path string) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || readsItself(t) {
		return s.dec.SkipValue() == nil
	}
	switch kind := s.dec.PeekKind(); {
	case kind == '{' && t.Kind() == reflect.Struct:
		names := foldedOf(t)
		return s.each('}', func(_ int, name string) bool {
			field, ok := names.fields[name]
			if right, near := names.folded[Fold(name)]; !ok && near {
				s.found = Misnamed(path, name, right)
				return false
			}
			return s.value(field, Child(path, name))
		})
	case kind == '{' && t.Kind() == reflect.Map:
		return s.each('}', func(_ int, name string) bool { return s.value(t.Elem(), Child(path, name)) })
	case kind == '[' && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		return s.each(']', func(i int, _ string) bool { return s.value(t.Elem(), Element(path, i)) })
	default:
		return s.dec.SkipValue() == nil
	}
}

// each reads an object or a list until its end.
func (s *foldSearch) each(end jsontext.Kind, visit func(i int, name string) bool) bool {
	if _, err := s.dec.ReadToken(); err != nil {
		return false
	}
	for i := 0; s.dec.PeekKind() != end; i++ {
		name := ""
		if end == '}' {
			token, err := s.dec.ReadToken()
			if err != nil {
				return false
			}
			name = token.String()
		}
		if !visit(i, name) {
			return false
		}
	}
	_, err := s.dec.ReadToken()
	return err == nil
}

// foldedNames are the fields of a struct.
type foldedNames struct {
	fields map[string]reflect.Type
	// folded leads from a name without its case to the name.
	folded map[string]string
}

// foldedTypes has the foldedNames of every type that was asked about.
var foldedTypes sync.Map

func foldedOf(t reflect.Type) *foldedNames {
	if known, ok := foldedTypes.Load(t); ok {
		if names, ok := known.(*foldedNames); ok {
			return names
		}
	}
	names := &foldedNames{fields: fieldsOf(t), folded: map[string]string{}}
	for name := range names.fields {
		names.folded[Fold(name)] = name
	}
	foldedTypes.Store(t, names)
	return names
}
