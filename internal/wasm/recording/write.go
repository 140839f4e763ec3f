package recording

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/sallyport-io/sallyport/internal/calls/hostcall"
)

// Write writes a session as Parse reads it.
func Write(exchanges []Exchange) ([]byte, error) {
	if len(exchanges) == 0 {
		return []byte("[]\n"), nil
	}
	root := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range exchanges {
		e := &exchanges[i]
		request, err := encodeRequest(e.Request)
		if err != nil {
			return nil, fmt.Errorf("entry %d of the session cannot be written: %w", i+1, err)
		}
		if !utf8.ValidString(e.Payload) {
			return nil, fmt.Errorf("entry %d of the session cannot be written: the answer is not text", i+1)
		}
		source := str(request)
		source.Style = yaml.LiteralStyle
		response := object("type", str("Success"), "payload", str(e.Payload))
		if e.Failed {
			response = object("type", str("Error"), "message", str(e.Message))
		}
		root.Content = append(root.Content, object("type", str("Exchange"), "request", source, "response", response))
	}
	return yaml.Marshal(root)
}

// encodeRequest writes a request with its tag. Fields are written in the order,
// and with the nulls, that the tools of the ecosystem write.
func encodeRequest(request hostcall.Request) (string, error) {
	tag, fields := "", (*yaml.Node)(nil)
	switch r := request.(type) {
	case *hostcall.Read:
		tag, fields = tagOf(r.Operation), encodeRead(r)
	case *hostcall.CanI:
		tag = tagOf(hostcall.MayI)
		fields = object("request", object(
			"groups", strs(r.Groups),
			"resource_attributes", object(
				"group", str(r.Group), "name", maybe(r.Name), "namespace", maybe(r.Namespace), "resource", str(r.Resource),
				"subresource", maybe(r.Subresource), "verb", str(r.Verb), "version", maybe(r.Version)),
			"user", str(r.User)), "disable_cache", boolean(r.DisableCache))
		if r.UID != "" || r.Extra != nil {
			review := fields.Content[1]
			review.Content = append(review.Content, str("uid"), maybe(r.UID), str("extra"), lists(r.Extra))
		}
	case *hostcall.Image:
		tag, fields = tagOf(r.Operation), object("image", str(r.Image))
	case *hostcall.Lookup:
		tag, fields = tagOf(hostcall.LookupHost), object("host", str(r.Host))
	case *hostcall.Trust:
		tag = tagOf(hostcall.CertificateTrusted)
		chain := &yaml.Node{Kind: yaml.SequenceNode}
		for _, c := range r.Chain {
			chain.Content = append(chain.Content, encodeCertificate(c))
		}
		fields = object("request", object("cert", encodeCertificate(r.Certificate), "cert_chain", chain, "not_after", maybe(r.NotAfter)))
	case *hostcall.Verify:
		tag, fields = r.Type, encodeVerify(r)
	default:
		return "", fmt.Errorf("%s is not recorded", request.About())
	}
	fields.Tag, fields.Style = "!"+tag, yaml.TaggedStyle
	text, err := yaml.Marshal(fields)
	return string(text), err
}

// tagOf is the name of an operation in a session.
func tagOf(o hostcall.Operation) string {
	for tag, operation := range tags {
		if operation == o {
			return tag
		}
	}
	return ""
}

func encodeRead(r *hostcall.Read) *yaml.Node {
	n := object("api_version", str(r.APIVersion), "kind", str(r.Kind))
	add := func(name string, value *yaml.Node) { n.Content = append(n.Content, str(name), value) }
	switch r.Operation {
	case hostcall.GetResource:
		add("name", str(r.Name))
		add("namespace", maybe(r.Namespace))
	case hostcall.ListByNamespace:
		add("namespace", str(r.Namespace))
		fallthrough
	default:
		add("label_selector", maybe(r.LabelSelector))
		add("field_selector", maybe(r.FieldSelector))
	}
	add("disable_cache", boolean(r.DisableCache))
	add("field_masks", strs(r.FieldMasks))
	return n
}

func encodeVerify(v *hostcall.Verify) *yaml.Node {
	n := object("image", str(v.Image))
	add := func(name string, value *yaml.Node) { n.Content = append(n.Content, str(name), value) }
	switch v.Type {
	case hostcall.PubKey:
		add("pub_keys", strs(v.PubKeys))
	case hostcall.KeylessExact, hostcall.KeylessPrefix:
		field, subject := "keyless", "subject"
		if v.Type == hostcall.KeylessPrefix {
			field, subject = "keyless_prefix", "url_prefix"
		}
		identities := &yaml.Node{Kind: yaml.SequenceNode}
		for _, k := range v.Keyless {
			identities.Content = append(identities.Content, object("issuer", str(k.Issuer), subject, str(k.Subject)))
		}
		add(field, identities)
	case hostcall.GithubActions:
		add("owner", str(v.Owner))
		add("repo", maybe(v.Repo))
	case hostcall.ByCertificate:
		add("certificate", octets(v.Certificate))
		chain := &yaml.Node{Kind: yaml.SequenceNode}
		for _, c := range v.CertificateChain {
			chain.Content = append(chain.Content, octets(c))
		}
		add("certificate_chain", chain)
		add("require_rekor_bundle", boolean(v.RequireRekorBundle))
	}
	annotations := null()
	if v.Annotations != nil {
		annotations = &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range sortedKeys(v.Annotations) {
			annotations.Content = append(annotations.Content, str(name), str(v.Annotations[name]))
		}
	}
	add("annotations", annotations)
	return n
}

func encodeCertificate(c hostcall.Certificate) *yaml.Node {
	return object("encoding", str(c.Encoding), "data", octets(c.Data))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// object makes a mapping of names and values, one after the other.
func object(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, p := range pairs {
		switch p := p.(type) {
		case string:
			n.Content = append(n.Content, str(p))
		case *yaml.Node:
			n.Content = append(n.Content, p)
		}
	}
	return n
}

func str(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	if strings.Contains(s, "\n") || n.Tag != "!!str" {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func null() *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"} }

// maybe is null for what is empty.
func maybe(s string) *yaml.Node {
	if s == "" {
		return null()
	}
	return str(s)
}

func boolean(b bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}
}

func strs(list []string) *yaml.Node {
	if list == nil {
		return null()
	}
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for _, s := range list {
		n.Content = append(n.Content, str(s))
	}
	return n
}

func lists(m map[string][]string) *yaml.Node {
	if m == nil {
		return null()
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range sortedKeys(m) {
		n.Content = append(n.Content, str(name), strs(m[name]))
	}
	return n
}

func octets(data []byte) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, b := range data {
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(int(b))})
	}
	return n
}
