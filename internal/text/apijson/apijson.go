// Package apijson reads JSON as the API server does. It is the one place in this
// project that does so: names of fields are case-sensitive, names that a type
// does not have are passed over, trailing data is an error, invalid UTF-8 is
// replaced by U+FFFD, null leaves a scalar or a struct as it was, and methods
// such as UnmarshalJSON are called. The measure is sigs.k8s.io/json, which is
// what the API server decodes with.
//
// Where the two differ, this package refuses what the other takes:
//
//   - A name that stands twice in one object is an error, anywhere in the
//     input: in a part that nobody decodes as well (a skipped field, managed
//     fields, the bytes of a raw extension), and where two names become equal
//     only once their invalid UTF-8 is replaced. sigs.k8s.io/json takes the last
//     one, and reports duplicates only of decoded fields.
//   - A tree (Tree, and every field of an interface type) may be nested
//     MaxTreeDepth levels deep. Everything else stops at 10,000 levels on both
//     sides.
//   - The first error ends the reading. The target of a failed call holds
//     whatever was read until then and must be thrown away.
package apijson

import (
	"errors"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// The options are joined once: joining them costs more than small objects take
// to decode. Everything starts from the semantics of encoding/json, from which
// sigs.k8s.io/json was made.
var (
	base = json.JoinOptions(
		jsonv1.DefaultOptionsV1(),
		json.MatchCaseInsensitiveNames(false),
		jsontext.AllowDuplicateNames(false),
		// Otherwise the whole input would be read a second time, beforehand.
		jsonv1.ReportErrorsWithLegacySemantics(false),
	)
	strict = json.JoinOptions(base, json.RejectUnknownMembers(true))

	trees = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, into *any) error {
		v, err := treeValue(dec, 0)
		*into = v
		return err
	}))
)

// Unmarshal reads the one JSON value in data into what into points at. The error
// is an *Error, which says which field is at fault.
func Unmarshal(data []byte, into any) error {
	return unmarshal(data, into, base)
}

// UnmarshalStrict is Unmarshal for what people write: a name that the type of
// into does not have is an error. The error is an Errors that lists every such
// name, with the path of the field and, where one comes close, the name that was
// probably meant, and every value of the wrong kind; or, for what is not JSON or
// has a name twice, an *Error, as Unmarshal gives it.
//
// A type with an UnmarshalJSON method of its own decides for itself what it does
// about names that it does not know.
func UnmarshalStrict(data []byte, into any) error {
	err := unmarshal(data, into, strict)
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		if wrong := wrongFields(data, reflect.TypeOf(into)); len(wrong) > 0 {
			return wrong
		}
	}
	return err
}

// Marshal writes v as encoding/json would, without escaping characters that are
// dangerous only in HTML, so that messages stay readable. The names of maps are
// sorted.
func Marshal(v any) ([]byte, error) {
	return json.Marshal(v, marshalOptions)
}

var marshalOptions = json.JoinOptions(
	jsonv1.DefaultOptionsV1(),
	jsontext.EscapeForHTML(false),
	jsontext.EscapeForJS(false),
)

// Raw is a part of the input that is kept as it stands. It shares its memory
// with the input and must not be written to.
type Raw []byte

// UnmarshalJSON keeps data, without a copy: the decoder hands out parts of the
// input itself.
func (r *Raw) UnmarshalJSON(data []byte) error {
	*r = data
	return nil
}

// MarshalJSON gives the part back; an empty one is null.
func (r Raw) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// IsNull reports whether nothing was there, or null.
func (r Raw) IsNull() bool { return len(r) == 0 || string(r) == "null" }

func unmarshal(data []byte, into any, options json.Options) error {
	var err error
	if t := reflect.TypeOf(into); t != nil && holdsTree(t) {
		err = json.Unmarshal(data, into, options, trees)
	} else {
		err = json.Unmarshal(data, into, options)
	}
	if err != nil {
		return explain(data, err)
	}
	return nil
}
