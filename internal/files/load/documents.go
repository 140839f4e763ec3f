package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/stored"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Manifests reads the objects of files, directories and standard input ("-"),
// lists taken apart, one at a time and in a fixed order. Each step gives either
// a document, or the problems of one that cannot be read; the rest follows.
func Manifests(paths []string, stdin io.Reader) iter.Seq2[*Document, stored.Problems] {
	return manifests(paths, stdin, false)
}

// manifests is Manifests; with none, an empty list of a kind is a document too.
func manifests(paths []string, stdin io.Reader, none bool) iter.Seq2[*Document, stored.Problems] {
	return func(yield func(*Document, stored.Problems) bool) {
		files, problems := collect(paths, stdin)
		for _, problem := range problems {
			if !yield(nil, stored.Problems{problem}) {
				return
			}
		}
		for _, f := range files {
			reader, err := f.open()
			if err != nil {
				if !yield(nil, stored.Problems{{Origin: f.name, Detail: unreadable(err)}}) {
					return
				}
				continue
			}
			more := (&fileReader{name: f.name, none: none, yield: yield}).read(reader)
			_ = reader.Close() // nothing was written
			if !more {
				return
			}
		}
	}
}

// Parse reads the objects of one file that is in memory.
func Parse(name string, data []byte) iter.Seq2[*Document, stored.Problems] {
	return func(yield func(*Document, stored.Problems) bool) {
		(&fileReader{name: name, yield: yield}).read(bytes.NewReader(data))
	}
}

// fileReader takes one file apart. Its methods return false when the consumer
// wants no more.
type fileReader struct {
	name  string
	index int
	none  bool
	yield func(*Document, stored.Problems) bool
}

func (r *fileReader) read(from io.Reader) bool {
	for segment, err := range segments(from) {
		switch {
		case errors.Is(err, errTooLarge):
			r.index++
			return r.fail(tooLarge("JSON", maxJSON))
		case err != nil:
			return r.yield(nil, stored.Problems{{Origin: r.name, Detail: unreadable(err)}})
		}
		if !r.segment(segment) {
			return false
		}
	}
	return true
}

// fail reports a problem of the current document, before its object is known.
func (r *fileReader) fail(err error) bool {
	d := Document{File: r.name, Index: r.index}
	return r.yield(nil, d.problems(err))
}

func (r *fileReader) segment(s segment) bool {
	if isBlank(s.text) {
		return true
	}
	if bytes.HasPrefix(s.text, []byte("\xff\xfe")) || bytes.HasPrefix(s.text, []byte("\xfe\xff")) {
		r.index++
		return r.fail(errors.New("is UTF-16; write it as UTF-8"))
	}
	if !utf8.Valid(s.text) {
		r.index++
		return r.fail(errors.New("is not UTF-8"))
	}
	if start := bytes.TrimLeft(s.text, " \t\r\n"); start[0] == '{' || start[0] == '[' {
		if more, done := r.json(s); done {
			return more
		}
	}
	return r.yaml(s)
}

func (r *fileReader) yaml(s segment) bool {
	r.index++
	if len(s.text) > maxYAML {
		return r.fail(tooLarge("YAML", maxYAML))
	}
	raw, err := yamlToJSON(s.text, s.line)
	var twice duplicates
	switch {
	case errors.As(err, &twice):
		d, problems := r.named(s), stored.Problems{}
		for i := range twice {
			problems = append(problems, d.problem(twice[i].path, twice[i].detail()))
		}
		return r.yield(nil, problems)
	case err != nil:
		d := r.named(s)
		return r.yield(nil, d.problems(err))
	case raw == nil:
		r.index--
		return true
	}
	line := s.line + bytes.Count(s.text[:len(s.text)-len(leadingBlankTrimmed(s.text))], []byte("\n"))
	d := &Document{File: r.name, Index: r.index, Line: line, Raw: raw, text: &text{bytes: s.text, line: s.line}}
	return r.document(d, schema.GroupVersionKind{}, 0)
}

// named is the current document, which has no JSON, with the name of its object
// as far as that can be told.
func (r *fileReader) named(s segment) *Document {
	d := &Document{File: r.name, Index: r.index}
	value, err := decodeYAML(s.text, false)
	if err != nil {
		return d
	}
	object, _ := value.(map[any]any)
	metadata, _ := object["metadata"].(map[any]any)
	d.GVK.Kind, _ = object["kind"].(string)
	d.Name, _ = metadata["name"].(string)
	d.Namespace, _ = metadata["namespace"].(string)
	return d
}

// json reads a segment that holds JSON objects, one after the other. done is
// false if it does not begin with one, and so may be YAML in flow style.
func (r *fileReader) json(s segment) (more, done bool) {
	decoder := jsontext.NewDecoder(bytes.NewReader(s.text), jsontext.AllowDuplicateNames(true))
	for first := true; ; first = false {
		value, err := decoder.ReadValue()
		switch {
		case errors.Is(err, io.EOF):
			return true, true
		case err != nil && first && !strings.EqualFold(filepath.Ext(r.name), ".json"):
			return true, false
		case err != nil:
			r.index++
			return r.fail(jsonError(err, s)), true
		}
		r.index++
		start := int(decoder.InputOffset()) - len(value)
		line := s.line + bytes.Count(s.text[:start], []byte("\n"))
		raw := s.text[start : start+len(value) : start+len(value)]
		d := &Document{File: r.name, Index: r.index, Line: line, Raw: raw, text: &text{bytes: raw, line: line, json: true}}
		if !r.document(d, schema.GroupVersionKind{}, 0) {
			return false, true
		}
	}
}

// jsonError words an error of the JSON decoder.
func jsonError(err error, s segment) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("not JSON: %w", err)
	}
	line := s.line + bytes.Count(s.text[:min(int(syntax.ByteOffset), len(s.text))], []byte("\n"))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("not JSON: it ends on line %d, before it is complete", line)
	}
	return fmt.Errorf("not JSON: line %d: %w", line, syntax.Err)
}

// document reads the envelope of a document, and takes it apart if it is a list.
func (r *fileReader) document(d *Document, inherited schema.GroupVersionKind, depth int) bool {
	e, err := readEnvelope(d, inherited)
	switch {
	case err != nil:
		return r.yield(nil, d.problems(err))
	case !isList(d, e):
		return r.yield(d, nil)
	case depth == maxLists:
		return r.yield(nil, stored.Problems{d.problem("", fmt.Sprintf("stands %d lists deep; write its objects one by one", maxLists))})
	}
	return r.list(d, e, depth)
}

// list reads the items of a list. Those of a typed list may leave apiVersion and
// kind out.
func (r *fileReader) list(d *Document, e *envelope, depth int) bool {
	var inherited schema.GroupVersionKind
	if d.GVK.Kind != "List" {
		inherited = d.GVK.GroupVersion().WithKind(strings.TrimSuffix(d.GVK.Kind, "List"))
	}
	var items []apijson.Raw
	if !e.Items.IsNull() {
		if err := apijson.Unmarshal(e.Items, &items); err != nil {
			return r.yield(nil, stored.Problems{d.problem("items", "is not a list of objects")})
		}
	}
	if len(items) == 0 && r.none && inherited.Kind != "" {
		d.None, d.GVK = true, inherited
		return r.yield(d, nil)
	}
	lines := lineCounter{rest: d.Raw, line: d.Line}
	lines.enter(e.Items)
	for i, raw := range items {
		item := Document{
			File: d.File, Index: d.Index, Item: strings.TrimPrefix(apijson.Element(d.Item+".items", i), "."),
			Line: d.Line, Raw: raw, text: d.text,
		}
		if d.text.json {
			item.Line = lines.enter(raw)
			lines.skip(len(raw))
			item.text = &text{bytes: raw, line: item.Line, json: true}
		} else {
			item.Line = item.LineOf("")
		}
		if !r.document(&item, inherited, depth+1) {
			return false
		}
	}
	return true
}

// lineCounter counts lines up to parts of a text that follow one another.
type lineCounter struct {
	rest []byte
	line int
}

// enter moves to the start of part, and returns the line that it begins on.
func (c *lineCounter) enter(part []byte) int {
	if i := bytes.Index(c.rest, part); i >= 0 {
		c.skip(i)
	}
	return c.line
}

// skip moves on by n bytes.
func (c *lineCounter) skip(n int) {
	n = min(n, len(c.rest))
	c.line += bytes.Count(c.rest[:n], []byte("\n"))
	c.rest = c.rest[n:]
}

// leadingBlankTrimmed is the text from its first line that is neither blank nor
// a comment.
func leadingBlankTrimmed(text []byte) []byte {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' {
			return text
		}
		text = rest
	}
	return text
}
