package fieldmask

import "github.com/go-json-experiment/json/jsontext"

// Append appends to dst what the mask keeps of the JSON value in src. Nothing is
// decoded: src must be valid JSON; what is not never panics, and ends in an error
// or in part of it.
func (m *Mask) Append(dst, src []byte) ([]byte, error) {
	if m == nil {
		return append(dst, src...), nil
	}
	s := scanner{src: src, dst: dst}
	s.value(m.root)
	if s.bad {
		return dst, errMalformed
	}
	return s.dst, nil
}

// scanner copies parts of src to dst.
type scanner struct {
	src, dst []byte
	at       int
	depth    int
	bad      bool
}

// deepest bounds recursion; what is deeper is not an object of Kubernetes.
const deepest = 512

func (s *scanner) peek() byte {
	for s.at < len(s.src) {
		switch c := s.src[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	s.bad = true
	return 0
}

// value copies what the node keeps of the next value.
func (s *scanner) value(n *node) {
	c := s.peek()
	if s.depth++; s.depth > deepest {
		s.bad = true
	}
	defer func() { s.depth-- }()
	switch {
	case s.bad:
	case n.all || c != '{' && c != '[':
		start := s.at
		s.skip()
		s.dst = append(s.dst, s.src[start:s.at]...)
	case c == '{':
		s.object(n)
	default:
		s.list(n)
	}
}

func (s *scanner) object(n *node) {
	s.dst = append(s.dst, '{')
	s.at++
	first := true
	for c := s.peek(); !s.bad && c != '}'; c = s.peek() {
		if c == ',' {
			s.at++
			c = s.peek()
		}
		start := s.at
		if c != '"' {
			s.bad = true
			return
		}
		escaped := s.text()
		name := s.src[start:s.at]
		if s.peek() != ':' {
			s.bad = true
			return
		}
		s.at++
		child := n.child(name, escaped)
		if child == nil {
			s.skip()
			continue
		}
		if !first {
			s.dst = append(s.dst, ',')
		}
		first = false
		s.dst = append(append(s.dst, name...), ':')
		s.value(child)
	}
	s.at++
	s.dst = append(s.dst, '}')
}

// child finds the child of a name that stands in quotes.
func (n *node) child(quoted []byte, escaped bool) *node {
	if !escaped && len(quoted) >= 2 {
		return n.children[string(quoted[1:len(quoted)-1])]
	}
	name, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return nil
	}
	return n.children[string(name)]
}

// list goes through a list as if it were not there.
func (s *scanner) list(n *node) {
	s.dst = append(s.dst, '[')
	s.at++
	first := true
	for c := s.peek(); !s.bad && c != ']'; c = s.peek() {
		if c == ',' {
			s.at++
		}
		if !first {
			s.dst = append(s.dst, ',')
		}
		first = false
		s.value(n)
	}
	s.at++
	s.dst = append(s.dst, ']')
}

// text passes over a string and reports whether it has escapes.
func (s *scanner) text() (escaped bool) {
	for s.at++; s.at < len(s.src); s.at++ {
		switch s.src[s.at] {
		case '\\':
			escaped = true
			s.at++
		case '"':
			s.at++
			return escaped
		}
	}
	s.at, s.bad = len(s.src), true
	return escaped
}

// skip passes over the next value.
func (s *scanner) skip() {
	depth := 0
	for s.peek(); !s.bad && s.at < len(s.src); {
		switch s.src[s.at] {
		case '"':
			s.text()
		case '{', '[':
			depth++
			s.at++
			continue
		case '}', ']':
			if depth == 0 {
				s.bad = true
				return
			}
			depth--
			s.at++
		case ' ', '\t', '\r', '\n', ',', ':':
			s.at++
			continue
		default:
			s.literal()
		}
		if depth == 0 {
			return
		}
	}
	s.bad = true
}

// literal passes over a number or a word.
func (s *scanner) literal() {
	for start := s.at; s.at < len(s.src); s.at++ {
		switch s.src[s.at] {
		case ',', '}', ']', ':', ' ', '\t', '\r', '\n', '"', '{', '[':
			s.bad = s.bad || s.at == start
			return
		}
	}
}
