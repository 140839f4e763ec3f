package pod

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// A path leads from the root of an object to the pods in it:
//
//	spec.template                     fields by name
//	spec.tasks[*].template            every element of a list
//	spec.tasks[0].template            one element of a list
//	spec.replicaSpecs.*.template      every value of a map
//	spec["odd.name"].template         a field whose name is not of letters, digits, "-" and "_"
//	.                                 the object itself
type path []step

// step is one part of a path.
type step struct {
	kind stepKind
	name string // of a field
	at   int    // of an element
}

type stepKind uint8

const (
	field stepKind = iota
	everyField
	element
	everyElement
)

const (
	maxPathLength = 1024
	maxPathSteps  = 32
	maxIndex      = 1 << 20
)

// parsePath reads a path. The error quotes it and says where it goes wrong and
// what belongs there.
func parsePath(text string) (path, error) {
	p := pathParser{text: text}
	steps, err := p.parse()
	if err != nil {
		return nil, fmt.Errorf("path %.100q: %w", text, err)
	}
	return steps, nil
}

// String writes the path as parsePath reads it.
func (p path) String() string {
	if len(p) == 0 {
		return "."
	}
	text := ""
	for i, s := range p {
		switch s.kind {
		case field:
			text = apijson.Child(text, s.name)
		case everyField:
			if i > 0 {
				text += "."
			}
			text += "*"
		case element:
			text = apijson.Element(text, s.at)
		case everyElement:
			text += "[*]"
		}
	}
	return text
}

type pathParser struct {
	text string
	at   int
}

func (p *pathParser) parse() (path, error) {
	switch {
	case p.text == "":
		return nil, fmt.Errorf(`it is empty; "." stands for the object itself`)
	case len(p.text) > maxPathLength:
		return nil, fmt.Errorf("it is longer than %d bytes", maxPathLength)
	case p.text == ".":
		return path{}, nil
	}
	var steps path
	for p.at < len(p.text) {
		s, err := p.step(len(steps) == 0)
		if err != nil {
			return nil, err
		}
		if steps = append(steps, s); len(steps) > maxPathSteps {
			return nil, fmt.Errorf("it has more than %d steps", maxPathSteps)
		}
	}
	return steps, nil
}

// step reads the next step; every one but the first begins with "." or "[".
func (p *pathParser) step(first bool) (step, error) {
	switch c := p.text[p.at]; {
	case c == '[':
		return p.bracket(first)
	case c == '.' && first:
		return step{}, p.wrong("a path begins with the name of a field, without a dot")
	case c == '.':
		p.at++
	case !first:
		return step{}, p.wrong(`"." or "[" belongs here`)
	}
	if strings.HasPrefix(p.text[p.at:], "*") {
		p.at++
		return step{kind: everyField}, nil
	}
	start := p.at
	for p.at < len(p.text) && isNameByte(p.text[p.at]) {
		p.at++
	}
	if p.at == start {
		return step{}, p.wrong(`the name of a field belongs here; one with other characters than letters, digits, "-" and "_" is written ["so"]`)
	}
	return step{kind: field, name: p.text[start:p.at]}, nil
}

// bracket reads [*], [0] or ["name"].
func (p *pathParser) bracket(first bool) (step, error) {
	start := p.at
	rest := p.text[p.at+1:]
	if quoted, err := strconv.QuotedPrefix(rest); err == nil && quoted[0] == '"' {
		name, err := strconv.Unquote(quoted)
		p.at += 1 + len(quoted)
		if err != nil || p.at >= len(p.text) || p.text[p.at] != ']' {
			return step{}, p.wrong(`"]" belongs after the quoted name`)
		}
		p.at++
		return step{kind: field, name: name}, nil
	}
	inner, _, closed := strings.Cut(rest, "]")
	switch {
	case !closed:
		return step{}, p.wrong(`a "[" without its "]"`)
	case first:
		return step{}, p.wrong("an object is not a list; a path begins with the name of a field")
	}
	p.at += len(inner) + 2
	if inner == "*" {
		return step{kind: everyElement}, nil
	}
	at, err := strconv.Atoi(inner)
	if err != nil || at < 0 || at > maxIndex || strconv.Itoa(at) != inner {
		p.at = start + 1
		return step{}, p.wrong(`"*", the number of an element or a quoted name belongs here`)
	}
	return step{kind: element, at: at}, nil
}

func (p *pathParser) wrong(detail string) error {
	return fmt.Errorf("%s, at byte %d", detail, p.at)
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
