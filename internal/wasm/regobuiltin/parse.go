package regobuiltin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// deepest is how far values may be nested.
	deepest = 1000
	// longestNumber and largestExponent keep numbers from taking memory that has
	// nothing to do with how they are written.
	longestNumber   = 400
	largestExponent = 400
)

var errEnd = errors.New("the value ends in the middle")

// parse reads a value as modules write it: JSON, with sets as {1, 2} and set(),
// and with names in objects that may be any value.
func parse(text []byte) (*ast.Term, error) {
	p := &parser{text: text}
	t, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.peek() != 0 || p.at < len(p.text) {
		return nil, errors.New("something follows the value")
	}
	return t, nil
}

type parser struct {
	text []byte
	at   int
}

// peek skips blanks and shows the next byte, 0 at the end.
func (p *parser) peek() byte {
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (p *parser) accept(c byte) bool {
	if p.peek() != c || p.at >= len(p.text) {
		return false
	}
	p.at++
	return true
}

func (p *parser) word(word string, t *ast.Term) (*ast.Term, error) {
	if !strings.HasPrefix(string(p.text[p.at:min(len(p.text), p.at+len(word))]), word) {
		return nil, fmt.Errorf("something that is not a value begins at byte %d", p.at)
	}
	p.at += len(word)
	return t, nil
}

func (p *parser) value(depth int) (*ast.Term, error) {
	if depth > deepest {
		return nil, fmt.Errorf("it is nested deeper than %d", deepest)
	}
	switch c := p.peek(); c {
	case 0:
		return nil, errEnd
	case '"':
		return p.str()
	case '[':
		return p.array(depth)
	case '{':
		return p.braces(depth)
	case 't':
		return p.word("true", ast.BooleanTerm(true))
	case 'f':
		return p.word("false", ast.BooleanTerm(false))
	case 'n':
		return p.word("null", ast.NullTerm())
	case 's':
		return p.word("set()", ast.NewTerm(ast.NewSet()))
	}
	return p.number()
}

func (p *parser) str() (*ast.Term, error) {
	begin := p.at
	for p.at++; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			text, err := jsontext.AppendUnquote(nil, p.text[begin:p.at])
			if err != nil {
				return nil, fmt.Errorf("the text at byte %d: %w", begin, err)
			}
			return ast.StringTerm(string(text)), nil
		}
	}
	return nil, errEnd
}

func (p *parser) number() (*ast.Term, error) {
	begin := p.at
	for p.at < len(p.text) && strings.IndexByte("0123456789+-.eE", p.text[p.at]) >= 0 {
		p.at++
	}
	text := string(p.text[begin:p.at])
	if text == "" || !jsontext.Value(text).IsValid() {
		return nil, fmt.Errorf("something that is not a value begins at byte %d", begin)
	}
	if len(text) > longestNumber {
		return nil, fmt.Errorf("a number has %d digits; at most %d are accepted", len(text), longestNumber)
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(text[i+1:]); err != nil || max(exponent, -exponent) > largestExponent {
			return nil, fmt.Errorf("a number has the exponent %s; at most %d is accepted", text[i+1:], largestExponent)
		}
	}
	return ast.NumberTerm(json.Number(text)), nil
}

func (p *parser) array(depth int) (*ast.Term, error) {
	p.at++
	var items []*ast.Term
	for !p.accept(']') {
		if len(items) > 0 && !p.accept(',') {
			return nil, fmt.Errorf("a comma is missing at byte %d", p.at)
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return ast.NewTerm(ast.NewArray(items...)), nil
}

// braces reads an object or a set: what follows the first value tells.
func (p *parser) braces(depth int) (*ast.Term, error) {
	p.at++
	if p.accept('}') {
		return ast.NewTerm(ast.NewObject()), nil
	}
	first, err := p.value(depth + 1)
	if err != nil {
		return nil, err
	}
	if p.peek() == ':' {
		return p.object(first, depth)
	}
	items := []*ast.Term{first}
	for !p.accept('}') {
		if !p.accept(',') {
			return nil, fmt.Errorf("a comma is missing at byte %d", p.at)
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return ast.NewTerm(ast.NewSet(items...)), nil
}

func (p *parser) object(name *ast.Term, depth int) (*ast.Term, error) {
	var members [][2]*ast.Term
	for {
		if !p.accept(':') {
			return nil, fmt.Errorf("a colon is missing at byte %d", p.at)
		}
		value, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		members = append(members, [2]*ast.Term{name, value})
		if p.accept('}') {
			return ast.NewTerm(ast.NewObject(members...)), nil
		}
		if !p.accept(',') {
			return nil, fmt.Errorf("a comma is missing at byte %d", p.at)
		}
		if name, err = p.value(depth + 1); err != nil {
			return nil, err
		}
	}
}
