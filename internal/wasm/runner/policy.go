package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/sallyport-io/sallyport/internal/calls/contextgate"
	"github.com/sallyport-io/sallyport/internal/wasm/module/fetch"
)

// DefaultTimeout is how long a module may take that no timeoutSeconds is given
// for.
const DefaultTimeout = 5 * time.Second

// Policy is what running a module takes. It is not changed once it is made.
type Policy struct {
	Kind, Namespace, Name string
	// Server is the PolicyServer that runs the module; empty for Sallyport itself.
	Server string
	// Module is where the module is.
	Module   string
	Settings json.RawMessage
	Mutating bool
	Timeout  time.Duration
	// Context is what the module was granted; Grants are its resources.
	Context *contextgate.Policy
	Grants  []contextgate.Grant

	key string
}

// Spec is what a Policy is made from.
type Spec struct {
	Kind, Namespace, Name string
	Server, Module        string
	// Settings are a JSON object; nil for none.
	Settings     json.RawMessage
	Mutating     bool
	Timeout      time.Duration
	Grants       []contextgate.Grant
	Capabilities []string
}

// New makes a Policy. The errors are those of the grants.
func New(s Spec) (*Policy, error) {
	context, err := contextgate.NewPolicy(s.Kind, s.Namespace, s.Name, s.Grants, s.Capabilities)
	if err != nil {
		return nil, err
	}
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	if len(bytes.TrimSpace(s.Settings)) == 0 {
		s.Settings = json.RawMessage("{}")
	}
	// What has the same key stays loaded. A policy that moves to another server is
	// judged by where it was until it is there.
	keyed := s
	keyed.Server = ""
	text, err := json.Marshal(keyed)
	if err != nil {
		return nil, fmt.Errorf("the settings are not JSON: %w", err)
	}
	sum := sha256.Sum256(text)
	return &Policy{
		Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, Server: s.Server, Module: s.Module,
		Settings: s.Settings, Mutating: s.Mutating, Timeout: s.Timeout, Context: context, Grants: s.Grants, key: string(sum[:]),
	}, nil
}

// String names the policy, as Kind/name or Kind/namespace/name.
func (p *Policy) String() string { return p.Context.String() }

// CheckModule says what is wrong with the address of a module; empty if nothing
// is. namespace is that of an AdmissionPolicy, whose author may be anybody who may
// write into it: its module comes from where the author could put it, and not out
// of the server's own files, machine or namespaces.
func CheckModule(address, namespace string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "registry", address
	}
	if rest == "" || strings.ContainsFunc(address, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "is not an address; it looks like registry://ghcr.io/org/policy:v1, https://host/policy.wasm, file:///policy.wasm or configmap://namespace/name/key"
	}
	switch scheme {
	case "registry":
		return fetch.CheckReference(rest, namespace != "")
	case "https", "http":
		target, err := url.Parse(address)
		switch {
		case err != nil || target.Host == "":
			return "is not a URL"
		case target.User != nil:
			return "holds a user name or a password, which everybody could read who may read the policy"
		case scheme == "http" && !fetch.Loopback(target.Host):
			return "is read over http, so that others could change the module on its way; use https"
		}
		return fetch.CheckHost(target.Host, namespace != "")
	case "file":
		switch {
		case namespace != "":
			return "is a file of the server, which an AdmissionPolicy may not name; use registry, https, or a ConfigMap of its namespace"
		case !strings.HasPrefix(rest, "/"):
			return "is not the whole path of a file; it begins with a slash, as in file:///policies/a.wasm"
		}
	case "configmap":
		parts := strings.Split(rest, "/")
		switch {
		case len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "":
			return "names no key of a ConfigMap; write configmap://NAMESPACE/NAME/KEY"
		case namespace != "" && parts[0] != namespace:
			return fmt.Sprintf("is a ConfigMap of another namespace; an AdmissionPolicy uses those of its own, %q", namespace)
		}
	default:
		return fmt.Sprintf("has the scheme %q, which is not known; there are registry, https, file and configmap", scheme)
	}
	return ""
}
