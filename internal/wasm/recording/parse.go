package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxBytes bounds a session.
const MaxBytes = 16 << 20

// Parse reads a session. Entries by which another host asked something for itself,
// the plural of a kind or whether a list has changed since it was read, are left
// out: here, no module and nothing for one asks that.
func Parse(text []byte) ([]Exchange, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the recorded session has %d bytes; %d are read at most", len(text), MaxBytes)
	}
	root, err := document(text)
	if err != nil {
		return nil, fmt.Errorf("the recorded session cannot be read: %w", err)
	}
	if root == nil {
		return nil, nil
	}
	if root.Kind != yaml.SequenceNode {
		return nil, errors.New("the recorded session cannot be read: a list of entries belongs there")
	}
	exchanges := make([]Exchange, 0, len(root.Content))
	for i, entry := range root.Content {
		e, err := parseExchange(entry)
		if errors.Is(err, errOfHost) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d of the recorded session, at line %d, cannot be read: %w", i+1, entry.Line, err)
		}
		exchanges = append(exchanges, e)
	}
	return exchanges, nil
}

// document parses the one document of text; nil if there is none.
func document(text []byte) (root *yaml.Node, err error) {
	// The parser stands for itself; should it panic over something that nobody
	// thought of, that is an error of this text.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("it is not YAML: %v", r)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, more yaml.Node
	if err := decoder.Decode(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one YAML document")
	}
	if len(first.Content) != 1 {
		return nil, errors.New("it holds no value")
	}
	return first.Content[0], nil
}

// mapping gives the values of a mapping by their names. A name that is not known
// is an error, and so is one that stands twice.
func mapping(n *yaml.Node, known ...string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, errors.New("fields belong there")
	}
	values := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if values[name] != nil {
			return nil, fmt.Errorf("field %q stands twice", name)
		}
		if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			return nil, fmt.Errorf("field %q is not known; there are %s", name, strings.Join(known, ", "))
		}
		values[name] = n.Content[i+1]
	}
	return values, nil
}

func text(n *yaml.Node, field string) (string, error) {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return "", fmt.Errorf("field %q must be a text", field)
	}
	return n.Value, nil
}

func parseExchange(n *yaml.Node) (e Exchange, err error) {
	fields, err := mapping(n, "type", "request", "response")
	if err != nil {
		return e, err
	}
	if kind, err := text(fields["type"], "type"); err != nil || kind != "Exchange" {
		return e, errors.New(`field "type" must be Exchange`)
	}
	if err := e.readRequest(fields["request"]); err != nil {
		return e, err
	}
	if fields["response"] == nil {
		return e, errors.New(`field "response" is missing`)
	}
	response, err := mapping(fields["response"], "type", "payload", "message")
	if err != nil {
		return e, fmt.Errorf("response: %w", err)
	}
	switch kind, _ := text(response["type"], "type"); kind {
	case "Success":
		e.Payload, err = payloadText(response["payload"])
	case "Error":
		e.Failed = true
		e.Message, err = text(response["message"], "message")
	default:
		err = errors.New(`field "type" must be Success or Error`)
	}
	if err != nil {
		return e, fmt.Errorf("response: %w", err)
	}
	return e, nil
}

// payloadText reads the answer of a call: a text, or its bytes as a list of numbers.
func payloadText(n *yaml.Node) (string, error) {
	if n == nil || n.Kind != yaml.SequenceNode {
		return text(n, "payload")
	}
	var octets []uint8
	if err := n.Decode(&octets); err != nil {
		return "", fmt.Errorf("field \"payload\" must be a text, or a list of bytes: %w", err)
	}
	if !utf8.Valid(octets) {
		return "", errors.New("field \"payload\" is not text: it is not UTF-8")
	}
	return string(octets), nil
}
