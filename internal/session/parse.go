package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sallyport-io/sallyport/internal/hostcall"
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
	request, err := text(fields["request"], "request")
	if err != nil {
		return e, err
	}
	if e.Request, err = parseRequest(request); err != nil {
		return e, fmt.Errorf("request: %w", err)
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
		e.Payload, err = text(response["payload"], "payload")
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

// tags are the calls by the names that they have in a session.
var tags = map[string]hostcall.Operation{
	"KubernetesListResourceNamespace": hostcall.ListByNamespace,
	"KubernetesListResourceAll":       hostcall.ListAll,
	"KubernetesGetResource":           hostcall.GetResource,
	"KubernetesCanI":                  hostcall.MayI,
	"OciManifestDigest":               hostcall.ManifestDigest,
	"OciManifest":                     hostcall.Manifest,
	"OciManifestAndConfig":            hostcall.ManifestAndConfig,
	"DNSLookupHost":                   hostcall.LookupHost,
	"CryptoIsCertificateTrusted":      hostcall.CertificateTrusted,
	hostcall.PubKey:                   hostcall.VerifyV2,
	hostcall.KeylessExact:             hostcall.VerifyV2,
	hostcall.KeylessPrefix:            hostcall.VerifyV2,
	hostcall.GithubActions:            hostcall.VerifyV2,
	hostcall.ByCertificate:            hostcall.VerifyV2,
}

// ofHost are the tags of what a host asks for itself.
var ofHost = []string{"KubernetesGetResourcePluralName", "HasKubernetesListResourceAllResultChangedSinceInstant"}

// errOfHost is such a request.
var errOfHost = errors.New("a host asked it for itself")

// parseRequest reads the YAML of a request: fields below a tag, or below one name
// as older tools wrote it.
func parseRequest(source string) (hostcall.Request, error) {
	n, err := document([]byte(source))
	if err != nil {
		return nil, err
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, errors.New("fields belong there, with a tag such as !KubernetesGetResource")
	}
	tag := strings.TrimPrefix(n.Tag, "!")
	if strings.HasPrefix(n.Tag, "!!") {
		if len(n.Content) != 2 || n.Content[1].Kind != yaml.MappingNode {
			return nil, errors.New("the tag is missing, such as !KubernetesGetResource")
		}
		tag, n = n.Content[0].Value, n.Content[1]
	}
	operation, ok := tags[tag]
	if slices.Contains(ofHost, tag) {
		return nil, errOfHost
	}
	if !ok {
		return nil, fmt.Errorf("%q is no call that is known here", tag)
	}
	payload, err := payloadOf(n, tag, operation)
	if err != nil {
		return nil, err
	}
	return hostcall.Decode(operation, payload)
}

// payloadOf makes the payload that a module would have sent.
func payloadOf(n *yaml.Node, tag string, operation hostcall.Operation) ([]byte, error) {
	inner := func(name string) (*yaml.Node, error) {
		fields, err := mapping(n, name)
		if err == nil && fields[name] == nil {
			err = fmt.Errorf("field %q is missing", name)
		}
		return fields[name], err
	}
	var err error
	switch operation {
	case hostcall.ManifestDigest, hostcall.Manifest, hostcall.ManifestAndConfig:
		n, err = inner("image")
	case hostcall.LookupHost:
		n, err = inner("host")
	case hostcall.CertificateTrusted:
		n, err = inner("request")
	case hostcall.VerifyV2:
		n = &yaml.Node{Kind: yaml.MappingNode, Content: append([]*yaml.Node{
			{Kind: yaml.ScalarNode, Tag: "!!str", Value: "type"}, {Kind: yaml.ScalarNode, Tag: "!!str", Value: tag},
		}, n.Content...)}
	}
	if err != nil {
		return nil, err
	}
	return appendJSON(nil, n, 0)
}
