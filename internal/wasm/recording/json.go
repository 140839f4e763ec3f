package recording

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// maxDepth bounds how deep a request is nested.
const maxDepth = 32

// appendJSON writes YAML as JSON. Anchors are refused: nobody writes them into a
// request, and they can make a small text large.
func appendJSON(out []byte, n *yaml.Node, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	if len(out) > hostcall.MaxPayload {
		return nil, fmt.Errorf("it is larger than the %d bytes that a module may send", hostcall.MaxPayload)
	}
	var err error
	switch n.Kind {
	case yaml.MappingNode:
		out = append(out, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				out = append(out, ',')
			}
			if n.Content[i].Kind != yaml.ScalarNode {
				return nil, errors.New("a name is not a text")
			}
			if out, err = jsontext.AppendQuote(out, n.Content[i].Value); err != nil {
				return nil, err
			}
			if out, err = appendJSON(append(out, ':'), n.Content[i+1], depth+1); err != nil {
				return nil, err
			}
		}
		return append(out, '}'), nil
	case yaml.SequenceNode:
		out = append(out, '[')
		for i, e := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = appendJSON(out, e, depth+1); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case yaml.ScalarNode:
		return appendScalar(out, n)
	}
	return nil, errors.New("anchors and aliases are not read")
}

func appendScalar(out []byte, n *yaml.Node) ([]byte, error) {
	switch n.ShortTag() {
	case "!!null":
		return append(out, "null"...), nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return nil, err
		}
		return fmt.Appendf(out, "%t", b), nil
	case "!!int":
		var i int64
		if err := n.Decode(&i); err != nil {
			return nil, err
		}
		return fmt.Appendf(out, "%d", i), nil
	case "!!str":
		return jsontext.AppendQuote(out, n.Value)
	}
	return nil, fmt.Errorf("%q is neither a text, a whole number, a boolean nor null", n.Value)
}
