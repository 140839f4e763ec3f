package source

import (
	"strings"
)

// Problem is one reason why a policy cannot do what it says.
type Problem struct {
	// Origin is the file and document that the object stands in; empty for an
	// object of the API server.
	Origin string
	// Kind, Namespace and Name of the object; empty where they are not known.
	Kind, Namespace, Name string
	// Path of the field; empty where the whole object is meant.
	Path string
	// Detail says what was found there and what would be right.
	Detail string
	// Reason is the rule of package effect, in one word, that a warning goes by;
	// empty for all else.
	Reason string
}

// Error is one sentence: origin, object, field, detail.
func (p Problem) Error() string {
	var b strings.Builder
	if p.Origin != "" {
		b.WriteString(p.Origin)
		b.WriteString(": ")
	}
	if p.Kind != "" {
		b.WriteString(p.Kind)
		if p.Name != "" {
			b.WriteByte(' ')
			if p.Namespace != "" {
				b.WriteString(p.Namespace)
				b.WriteByte('/')
			}
			b.WriteString(p.Name)
		}
		b.WriteString(": ")
	}
	b.WriteString(p.At())
	return b.String()
}

// LogValues are the keys and values of a log line about the problem. What is not
// known, or does not apply, is left out.
func (p Problem) LogValues() []any {
	return append(Known("origin", p.Origin, "kind", p.Kind, "namespace", p.Namespace, "name", p.Name, "field", p.Path), "problem", p.Detail)
}

// Known is the pairs of keys and values without those that have no value.
func Known(pairs ...string) []any {
	var values []any
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values = append(values, pairs[i], pairs[i+1])
		}
	}
	return values
}

// At is the field and what is wrong with it.
func (p Problem) At() string {
	if p.Path == "" {
		return p.Detail
	}
	return p.Path + ": " + p.Detail
}

// Problems are all the reasons, of one policy or of many.
type Problems []Problem

// Error is one line a problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Twice says that the name of the object is taken, by one of first; empty for
// one of the API server.
func (p Problem) Twice(first string) Problem {
	p.Path, p.Detail = "metadata.name", "is there twice"
	if first != "" {
		p.Detail += ": also in " + first
	}
	p.Detail += "; give one of them another name or remove it"
	return p
}
