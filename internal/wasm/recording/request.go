package recording

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

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

const exampleOfTags = "!KubernetesGetResource"

// readRequest reads the request of an entry: YAML within a text, or the same
// without the text around it.
func (e *Exchange) readRequest(n *yaml.Node) error {
	if n == nil {
		return errors.New(`field "request" is missing`)
	}
	if n.Kind == yaml.ScalarNode {
		source, err := text(n, "request")
		if err != nil {
			return err
		}
		if n, err = document([]byte(source)); err != nil {
			return fmt.Errorf("request: %w", err)
		}
	}
	if err := e.parseRequest(n); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	return nil
}

// parseRequest reads a request: fields below a tag, or below one name as older
// tools wrote it.
func (e *Exchange) parseRequest(n *yaml.Node) error {
	if n == nil || n.Kind != yaml.MappingNode {
		return errors.New("fields belong there, with a tag such as " + exampleOfTags)
	}
	tag := strings.TrimPrefix(n.Tag, "!")
	if strings.HasPrefix(n.Tag, "!!") {
		if len(n.Content) != 2 || n.Content[1].Kind != yaml.MappingNode {
			return errors.New("the tag is missing, such as " + exampleOfTags)
		}
		tag, n = n.Content[0].Value, n.Content[1]
	}
	if slices.Contains(ofHost, tag) {
		return errOfHost
	}
	operation, ok := tags[tag]
	if !ok {
		return fmt.Errorf("%q is not a call that is known here", tag)
	}
	payload, err := payloadOf(n, tag, operation)
	if err != nil {
		return err
	}
	e.Request, err = hostcall.Decode(operation, payload)
	return err
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
