package load

import (
	"bytes"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	yaml "go.yaml.in/yaml/v3"
)

// maxLocated is the largest document in which fields are looked up: finding a
// line takes a parse of its own.
const maxLocated = 4 << 20

// text is the source of one object in JSON, or of a YAML document, which may be
// a list of many.
type text struct {
	bytes []byte
	line  int
	json  bool

	once sync.Once
	root *yaml.Node
}

// LineOf is the line of the file, counted from 1, that a field of the object
// stands on. For a field that is not there it is the line of the nearest field
// above it that is.
func (d *Document) LineOf(path string) int {
	if d.text == nil || len(d.text.bytes) > maxLocated {
		return d.Line
	}
	at := steps(path)
	var line int
	if d.text.json {
		line = jsonLine(d.text.bytes, at)
	} else {
		line = d.text.yamlLine(append(steps(d.Item), at...))
	}
	if line == 0 {
		return d.Line
	}
	return d.text.line + line - 1
}

// yamlLine is the line in the text of the last step that is there, 0 for none.
func (t *text) yamlLine(at []step) int {
	t.once.Do(func() {
		var root yaml.Node
		if yaml.Unmarshal(t.bytes, &root) == nil && len(root.Content) == 1 {
			t.root = root.Content[0]
		}
	})
	node, line := t.root, 0
	for _, s := range at {
		if node != nil && node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		if node == nil {
			return line
		}
		var next *yaml.Node
		switch {
		case node.Kind == yaml.SequenceNode && s.index >= 0 && s.index < len(node.Content):
			next = node.Content[s.index]
			line = next.Line
		case node.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == s.name {
					next, line = node.Content[i+1], node.Content[i].Line
					break
				}
			}
		}
		node = next
	}
	return line
}

// jsonLine is the line in the text of the last step that is there, 0 for none.
func jsonLine(data []byte, at []step) int {
	var pointer strings.Builder
	pointers := make(map[jsontext.Pointer]int, len(at))
	for i, s := range at {
		pointer.WriteByte('/')
		pointer.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(s.name))
		pointers[jsontext.Pointer(pointer.String())] = i + 1
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(data))
	var depth int
	var offset int64
	for depth < len(at) {
		if _, err := decoder.ReadToken(); err != nil {
			break
		}
		if i := pointers[decoder.StackPointer()]; i > depth {
			depth, offset = i, decoder.InputOffset()
		}
	}
	if depth == 0 {
		return 0
	}
	return 1 + bytes.Count(data[:offset], []byte("\n"))
}
