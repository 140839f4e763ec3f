package apijson

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the kind of a JSON value.
type Kind byte

// The kinds. None: there is no further value, or what follows is not JSON.
const (
	None   Kind = 0
	Null   Kind = 'n'
	Bool   Kind = 't'
	String Kind = '"'
	Number Kind = '0'
	Object Kind = '{'
	Array  Kind = '['
)

// String names the kind as messages do: "an object".
func (k Kind) String() string { return found(jsontext.Kind(k)) }

// Decoder walks through one JSON value and decodes the parts that are wanted.
// Each value must be read once and by one of its methods, in the order of the
// input.
type Decoder struct {
	dec  *jsontext.Decoder
	data []byte
}

// Read walks through the one JSON value in data: read is called once and reads
// it. Names are checked for duplicates everywhere, skipped parts included. The
// error of read is given back as it is if it is an *Error, and as one otherwise.
func Read(data []byte, read func(*Decoder) error) error {
	if err := json.Unmarshal(data, &walk{read, data}, base); err != nil {
		return explain(data, err)
	}
	return nil
}

// walk lets json.Unmarshal lend its pooled decoder.
type walk struct {
	read func(*Decoder) error
	data []byte
}

// UnmarshalJSONFrom reads the next value.
func (w *walk) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return w.read(&Decoder{dec, w.data})
}

// Kind is the kind of the next value.
func (d *Decoder) Kind() Kind {
	switch k := d.dec.PeekKind(); k {
	case 't', 'f':
		return Bool
	case 'n', '"', '0', '{', '[':
		return Kind(k)
	default:
		return None
	}
}

// Object reads the next value, which must be an object: field is called with
// each name and reads its value.
func (d *Decoder) Object(field func(name string) error) error {
	if k := d.Kind(); k != Object && k != None {
		return d.mismatch(k, "an object")
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for d.dec.PeekKind() != '}' {
		token, err := d.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := field(token.String()); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// List reads the next value, which must be an array: element is called with
// each index and reads its value.
func (d *Decoder) List(element func(i int) error) error {
	if k := d.Kind(); k != Array && k != None {
		return d.mismatch(k, "a list")
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; d.dec.PeekKind() != ']'; i++ {
		if err := element(i); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// Decode reads the next value into what into points at, as Unmarshal does.
func (d *Decoder) Decode(into any) error {
	if t := reflect.TypeOf(into); t != nil && holdsTree(t) {
		return json.UnmarshalDecode(d.dec, into, trees)
	}
	return json.UnmarshalDecode(d.dec, into)
}

// Raw reads the next value as it stands. It shares its memory with the input.
func (d *Decoder) Raw() (Raw, error) {
	raw, err := d.dec.ReadValue()
	return Raw(raw), err
}

// DecodeRaw reads the next value as Decode does, and gives it back as it stands
// as well. It shares its memory with the input.
func (d *Decoder) DecodeRaw(into any) (Raw, error) {
	start := d.dec.InputOffset()
	if err := d.Decode(into); err != nil {
		return nil, err
	}
	// What separates a value from the one before is not part of it.
	return Raw(bytes.TrimLeft(d.data[start:d.dec.InputOffset()], " \t\r\n:,")), nil
}

// Skip reads the next value and drops it.
func (d *Decoder) Skip() error { return d.dec.SkipValue() }

// mismatch says that the next value is of the wrong kind.
func (d *Decoder) mismatch(k Kind, want string) error {
	// Only a value that was read has a place on the decoder's stack.
	if err := d.dec.SkipValue(); err != nil {
		return err
	}
	return &json.SemanticError{
		JSONPointer: d.dec.StackPointer(), Err: fmt.Errorf("found %s, %s belongs here", k, want),
	}
}
