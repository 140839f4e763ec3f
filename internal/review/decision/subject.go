package decision

import (
	"strings"

	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Subject says in words what a request asks for, such as "exec into pod
// shop/web" or "creating Deployment shop/web". It is what a refusal speaks of.
func Subject(req *request.Request) string {
	switch {
	case req.NonResourcePath != "":
		return Clean(orRequest(req.Verb) + " " + req.NonResourcePath)
	case req.Resource.Group == "" && req.Subresource != "" && entry(req) != "":
		return Clean(entry(req))
	case kindOf(req) == "":
		return "this request"
	case req.Door == request.Admission:
		return Clean(orRequest(operation(req.Operation)) + " " + kindOf(req) + " " + qualified(req.Namespace, req.Name))
	default:
		return Clean(orRequest(req.Verb) + " " + resourceOf(req) + " " + qualified(req.Namespace, req.Name))
	}
}

// orRequest stands for a verb that is not known: of a review that is refused unread
// there may be no more than its beginning.
func orRequest(verb string) string {
	if verb == "" {
		return "a request about"
	}
	return verb
}

// entry words a request that reaches into what runs; empty for any other.
func entry(req *request.Request) string {
	target := qualified(req.Namespace, req.Name)
	switch req.Resource.Resource {
	case "nodes":
		if req.Subresource == "proxy" {
			return "proxying to node " + target
		}
		return ""
	case "services":
		if req.Subresource == "proxy" {
			return "proxying to service " + target
		}
		return ""
	case "pods":
	default:
		return ""
	}
	target = "pod " + target
	if req.Options != nil && req.Options.Container != "" {
		target = "container " + req.Options.Container + " of " + target
	}
	switch req.Subresource {
	case "exec":
		return "exec into " + target
	case "attach":
		return "attach to " + target
	case "portforward":
		return "port-forward to " + target
	case "proxy":
		return "proxying to " + target
	case "log":
		return "reading the log of " + target
	case "ephemeralcontainers":
		return "debugging " + target + " with an ephemeral container"
	default:
		return ""
	}
}

func operation(o request.Operation) string {
	switch o {
	case request.Create:
		return "creating"
	case request.Update:
		return "updating"
	case request.Delete:
		return "deleting"
	case request.Connect:
		return "connecting to"
	default:
		return string(o)
	}
}

// kindOf names the kind of an admission request; a subresource is named by its
// resource, since its kind (Scale, TokenRequest) does not say whose it is.
func kindOf(req *request.Request) string {
	if req.Subresource != "" || req.Kind.Kind == "" {
		return resourceOf(req)
	}
	return req.Kind.Kind
}

func resourceOf(req *request.Request) string {
	var b strings.Builder
	b.WriteString(req.Resource.Resource)
	if req.Resource.Group != "" {
		b.WriteByte('.')
		b.WriteString(req.Resource.Group)
	}
	if req.Subresource != "" {
		b.WriteByte('/')
		b.WriteString(req.Subresource)
	}
	return b.String()
}

func qualified(namespace, name string) string {
	switch {
	case name == "" && namespace == "":
		return "(any)"
	case name == "":
		return "(any) in " + namespace
	case namespace == "":
		return name
	default:
		return namespace + "/" + name
	}
}
