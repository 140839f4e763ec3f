// Package hostcall knows the calls that a policy module makes to its host: which
// there are, what their payloads hold, and when two of them ask for the same. The
// calls are those of the binding "kubewarden".
//
// A payload comes from a module that nobody trusts. It is bounded, a name that
// stands twice is refused, and so is one that differs from a known name only in
// case or underscores: two readers of such a payload could see two requests.
package hostcall

import "fmt"

// Binding is the one binding that there is.
const Binding = "kubewarden"

// MaxPayload bounds the payload of one call.
const MaxPayload = 1 << 20

// Call is a call as the module made it.
type Call struct {
	Binding, Namespace, Operation string
	Payload                       []byte
}

// Operation names a call by its namespace and operation, with a slash between.
type Operation string

// The operations.
const (
	ListByNamespace    Operation = "kubernetes/list_resources_by_namespace"
	ListAll            Operation = "kubernetes/list_resources_all"
	GetResource        Operation = "kubernetes/get_resource"
	MayI               Operation = "kubernetes/can_i"
	VerifyV1           Operation = "oci/v1/verify"
	VerifyV2           Operation = "oci/v2/verify"
	ManifestDigest     Operation = "oci/v1/manifest_digest"
	Manifest           Operation = "oci/v1/oci_manifest"
	ManifestAndConfig  Operation = "oci/v1/oci_manifest_config"
	LookupHost         Operation = "net/v1/dns_lookup_host"
	CertificateTrusted Operation = "crypto/v1/is_certificate_trusted"
	Log                Operation = "tracing/log"
)

// Operations are all operations that there are.
func Operations() []Operation {
	return []Operation{
		ListByNamespace, ListAll, GetResource, MayI, VerifyV1, VerifyV2, ManifestDigest,
		Manifest, ManifestAndConfig, LookupHost, CertificateTrusted, Log,
	}
}

// Reads reports whether the operation reads objects of the cluster, which is
// granted by resource and not by the name of the operation.
func (o Operation) Reads() bool {
	return o == ListByNamespace || o == ListAll || o == GetResource
}

// Verb is the operation as a verb of RBAC: get or list for reads, create for a
// question about rights, and the last part of its name otherwise.
func (o Operation) Verb() string {
	switch o {
	case GetResource:
		return "get"
	case ListByNamespace, ListAll:
		return "list"
	case MayI:
		return "create"
	}
	for i := len(o) - 1; i >= 0; i-- {
		if o[i] == '/' {
			return string(o[i+1:])
		}
	}
	return string(o)
}

// Unknown is the error of a call that does not exist.
type Unknown struct{ Binding, Namespace, Operation string }

// Error says what was called and what there is.
func (u *Unknown) Error() string {
	if u.Binding != Binding {
		return fmt.Sprintf("unknown binding %q: host calls have the binding %q", clip(u.Binding), Binding)
	}
	return fmt.Sprintf("unknown host call %q of namespace %q", clip(u.Operation), clip(u.Namespace))
}

// clip keeps what a module wrote short enough for a message.
func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "..."
	}
	return s
}

// Find gives the operation that a call is for, without looking at its payload. A
// call that does not exist is an *Unknown; the calls kubernetes/namespaces,
// ingresses and services of long ago are among them.
func (c Call) Find() (Operation, error) {
	if c.Binding == Binding {
		for _, o := range Operations() {
			if len(o) == len(c.Namespace)+1+len(c.Operation) && string(o) == c.Namespace+"/"+c.Operation {
				return o, nil
			}
		}
	}
	return "", &Unknown{c.Binding, c.Namespace, c.Operation}
}
