package wasm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Patch returns the JSON patch (RFC 6902) that makes after of before, or nil if
// they are equal. Numbers keep all their digits.
func Patch(before, after []byte) ([]byte, error) {
	from, err := parseTree(before)
	if err != nil {
		return nil, fmt.Errorf("the object before the change cannot be read: %w", err)
	}
	to, err := parseTree(after)
	if err != nil {
		return nil, fmt.Errorf("the object that the policy changed cannot be read: %w", err)
	}
	p := &patch{}
	p.compare("", from, to)
	if p.out == nil {
		return nil, nil
	}
	return append(p.out, ']'), nil
}

type patch struct{ out []byte }

func (p *patch) add(op, path string, value jsontext.Value) {
	separator := byte(',')
	if p.out == nil {
		separator = '['
	}
	p.out = append(append(p.out, separator), `{"op":"`+op+`","path":`...)
	// A name that is not valid UTF-8 was not let in by the decoder.
	p.out, _ = jsontext.AppendQuote(p.out, path)
	if value != nil {
		p.out = append(append(p.out, `,"value":`...), value...)
	}
	p.out = append(p.out, '}')
}

func (p *patch) compare(path string, from, to *tree) {
	switch {
	case from.sum == to.sum:
	case from.kind == '{' && to.kind == '{':
		p.compareObjects(path, from, to)
	case from.kind == '[' && to.kind == '[':
		p.compareArrays(path, from.items, to.items)
	default:
		p.add("replace", path, to.raw)
	}
}

func (p *patch) compareObjects(path string, from, to *tree) {
	for _, m := range from.members {
		below := path + "/" + escape(m.name)
		if value := to.member(m.name); value != nil {
			p.compare(below, m.value, value)
		} else {
			p.add("remove", below, nil)
		}
	}
	for _, m := range to.members {
		if from.member(m.name) == nil {
			p.add("add", path+"/"+escape(m.name), m.value.raw)
		}
	}
}

// compareArrays leaves alone what is equal at the beginning and at the end, and
// pairs what is between: one item that is put in or taken out is one operation.
func (p *patch) compareArrays(path string, from, to []*tree) {
	first := 0
	for first < len(from) && first < len(to) && from[first].sum == to[first].sum {
		first++
	}
	from, to = from[first:], to[first:]
	for len(from) > 0 && len(to) > 0 && from[len(from)-1].sum == to[len(to)-1].sum {
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	at := func(i int) string { return path + "/" + strconv.Itoa(first+i) }
	paired := min(len(from), len(to))
	for i := range paired {
		p.compare(at(i), from[i], to[i])
	}
	for range from[paired:] {
		p.add("remove", at(paired), nil)
	}
	for i := range to[paired:] {
		p.add("add", at(paired+i), to[paired+i].raw)
	}
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

func escape(name string) string { return escapes.Replace(name) }
