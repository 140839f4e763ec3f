package wasm

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// deepest is how far JSON may be nested to be compared.
const deepest = 1000

// seed keeps a module from choosing values whose sums are the same.
var seed = maphash.MakeSeed()

// tree is a JSON value with a sum that equal values share, whatever the order of
// their members.
type tree struct {
	raw     jsontext.Value
	kind    jsontext.Kind
	sum     uint64
	members []member
	index   map[string]int
	items   []*tree
}

type member struct {
	name  string
	value *tree
}

func (t *tree) member(name string) *tree {
	if i, ok := t.index[name]; ok {
		return t.members[i].value
	}
	return nil
}

// parseTree reads one JSON value, in which no name stands twice.
func parseTree(raw []byte) (*tree, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	t, err := readNext(d, raw, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return t, nil
}

// readNext reads the next value of d, which reads raw.
func readNext(d *jsontext.Decoder, raw []byte, depth int) (*tree, error) {
	if depth > deepest {
		return nil, fmt.Errorf("it is nested deeper than %d", deepest)
	}
	t := &tree{kind: d.PeekKind()}
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	text := ""
	if t.kind == '"' || t.kind == '0' {
		text = token.String()
	}
	start := d.InputOffset() - 1
	switch t.kind {
	case '{':
		t.index = map[string]int{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			m := member{name: name.String()}
			if m.value, err = readNext(d, raw, depth+1); err != nil {
				return nil, err
			}
			t.index[m.name] = len(t.members)
			t.members = append(t.members, m)
			t.sum += mix(maphash.String(seed, m.name), m.value.sum)
		}
		t.sum = mix(t.sum, '{')
	case '[':
		t.sum = '['
		for d.PeekKind() != ']' {
			item, err := readNext(d, raw, depth+1)
			if err != nil {
				return nil, err
			}
			t.items = append(t.items, item)
			t.sum = mix(t.sum, item.sum)
		}
	case '0':
		t.raw, t.sum = jsontext.Value(text), mix(maphash.String(seed, plainNumber(text)), '0')
		return t, nil
	case '"':
		t.raw, _ = jsontext.AppendQuote(nil, text)
		t.sum = mix(maphash.String(seed, text), '"')
		return t, nil
	default:
		t.raw, t.sum = jsontext.Value(token.String()), mix(uint64(t.kind), 'v')
		return t, nil
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	t.raw = jsontext.Value(raw[start:d.InputOffset()])
	return t, nil
}

// plainNumber is the same for numbers that are equal. An integer stays as it is:
// it may have more digits than a float holds.
func plainNumber(text string) string {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c == '.' || c == 'e' || c == 'E' {
			if f, err := strconv.ParseFloat(text, 64); err == nil {
				return strconv.FormatFloat(f, 'f', -1, 64)
			}
			return text
		}
	}
	return text
}

func mix(a, b uint64) uint64 {
	return maphash.Comparable(seed, [2]uint64{a, b})
}
