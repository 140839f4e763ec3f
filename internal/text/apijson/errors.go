package apijson

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Error says what is wrong with one field of the input.
type Error struct {
	// Path of the field, such as spec.rules[0].weight; empty for the whole input.
	Path string
	// Detail says what was found there and what would be right.
	Detail string
	// Err is the decoder's own error, if there is one.
	Err error
}

// Error is one sentence: the path and the detail.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Detail
	}
	return e.Path + ": " + e.Detail
}

// Unwrap gives the decoder's error.
func (e *Error) Unwrap() error { return e.Err }

// Errors are several of them, in the order of the input.
type Errors []*Error

// Error is one line an error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives all of them.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i := range e {
		all[i] = e[i]
	}
	return all
}

// ErrorsOf takes apart what a function of this package returned: the errors in
// it, each with its path. An error of any other origin is one with no path.
func ErrorsOf(err error) Errors {
	if err == nil {
		return nil
	}
	if several := (Errors)(nil); errors.As(err, &several) {
		return several
	}
	if one := (*Error)(nil); errors.As(err, &one) {
		return Errors{one}
	}
	return Errors{{Detail: err.Error(), Err: err}}
}

var errTooDeep = fmt.Errorf("nested more than %d levels deep", MaxTreeDepth)

// explain turns the decoder's error into one that a person can act on. data is
// the input that it arose from.
func explain(data []byte, err error) error {
	if own := (*Error)(nil); errors.As(err, &own) {
		return own
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return explainSyntax(data, err, syntactic)
	}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return &Error{Detail: err.Error(), Err: err}
	}
	e := &Error{Path: pathOf(data, semantic.JSONPointer), Err: err}
	switch {
	case errors.Is(semantic.Err, json.ErrUnknownName):
		e.Detail = unknownDetail(semantic.JSONPointer.LastToken(), semantic.GoType)
	case errors.Is(semantic.Err, strconv.ErrRange), errors.Is(semantic.Err, strconv.ErrSyntax):
		e.Detail = fmt.Sprintf("found %s, %s belongs here", foundNumber(semantic), wanted(semantic.GoType))
	case semantic.Err != nil:
		e.Detail = strings.TrimPrefix(semantic.Err.Error(), "json: ")
	default:
		e.Detail = fmt.Sprintf("found %s, %s belongs here%s", found(semantic.JSONKind), wanted(semantic.GoType), inQuotes(semantic.JSONKind, semantic.GoType))
	}
	return e
}

// inQuotes ends the sentence about something that was most likely meant as a
// string: in YAML 1.34 is a number, and n, no and off are false.
func inQuotes(k jsontext.Kind, t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.String || k != 't' && k != 'f' && k != '0' {
		return ""
	}
	return ": write it in quotes"
}

func explainSyntax(data []byte, err error, s *jsontext.SyntacticError) error {
	e := &Error{Err: err}
	switch {
	case errors.Is(s.Err, jsontext.ErrDuplicateName):
		e.Path = pathOf(data, s.JSONPointer)
		e.Detail = "stands more than once in the same object"
	case errors.Is(s.Err, io.ErrUnexpectedEOF) && len(strings.TrimSpace(string(data[:min(len(data), 64)]))) == 0:
		e.Detail = "nothing was found, JSON belongs here"
	case errors.Is(s.Err, io.ErrUnexpectedEOF):
		e.Detail = fmt.Sprintf("not JSON: it ends at byte %d, before it is complete", len(data))
	case s.Err != nil:
		e.Detail = fmt.Sprintf("not JSON: %v, at byte %d", s.Err, s.ByteOffset)
	default:
		e.Detail = fmt.Sprintf("not JSON, at byte %d", s.ByteOffset)
	}
	return e
}

// foundNumber names a number that does not fit, cut to a length that is sure to
// be read.
func foundNumber(e *json.SemanticError) string {
	value := string(e.JSONValue)
	if value == "" {
		return found(e.JSONKind)
	}
	const most = 40
	if len(value) > most {
		value = value[:most] + "..."
	}
	return value
}

func found(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{', '}':
		return "an object"
	case '[', ']':
		return "a list"
	default:
		return "something else"
	}
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return found('n')
	case bool:
		return found('t')
	case string:
		return found('"')
	case []any:
		return found('[')
	case map[string]any:
		return found('{')
	default:
		return found('0')
	}
}

// wanted says what the type t takes.
func wanted(t reflect.Type) string {
	if t == nil {
		return "something else"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return fmt.Sprintf("a whole number of %d bits that is not negative", t.Bits())
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf("a number of %d bits", t.Bits())
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string in base64"
		}
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "something else"
	}
}
