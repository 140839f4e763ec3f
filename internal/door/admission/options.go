package admission

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/request"
	"github.com/sallyport-io/sallyport/internal/wire"
)

// optionKinds are the kinds of the options that a CONNECT of the core group
// carries as its object, by resource and subresource.
var optionKinds = map[[2]string]string{
	{"pods", "exec"}:        "PodExecOptions",
	{"pods", "attach"}:      "PodAttachOptions",
	{"pods", "portforward"}: "PodPortForwardOptions",
	{"pods", "proxy"}:       "PodProxyOptions",
	{"nodes", "proxy"}:      "NodeProxyOptions",
	{"services", "proxy"}:   "ServiceProxyOptions",
}

// connectOptions are the fields of all of those kinds that a decision can turn
// on. The command is not among them, so that it is never held.
type connectOptions struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Container  string  `json:"container"`
	Stdin      bool    `json:"stdin"`
	TTY        bool    `json:"tty"`
	Path       string  `json:"path"`
	Ports      []int32 `json:"ports"`
}

// options reads the options of a CONNECT. Where the pod, the node or the service
// is entered through the core group, they must be there and of the right kind;
// any other CONNECT has those that it has.
func options(req *request.Request, raw wire.Raw) (*request.ConnectOptions, error) {
	if want := optionKinds[[2]string{req.Resource.Resource, req.Subresource}]; want != "" && req.Resource.Group == "" {
		switch {
		case req.Kind.Kind != want || req.Kind.Group != "":
			return nil, door.Malformed("request.kind is %s of group %q, a CONNECT to %s/%s carries %s",
				req.Kind.Kind, req.Kind.Group, req.Resource.Resource, req.Subresource, want)
		case raw.IsNull():
			return nil, door.Malformed("request.object is missing: a CONNECT to %s/%s carries its %s there",
				req.Resource.Resource, req.Subresource, want)
		}
	}
	if raw.IsNull() {
		return &request.ConnectOptions{Kind: req.Kind.Kind}, nil
	}
	var o connectOptions
	if err := wire.Unmarshal(raw, &o); err != nil {
		return nil, door.Malformed("request.object cannot be read as a %s: %w", req.Kind.Kind, err)
	}
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return nil, door.Malformed("request.object.apiVersion is %q, which is no group and version", o.APIVersion)
	}
	if err := sameKind("object", req.Kind, gv.WithKind(o.Kind)); err != nil {
		return nil, err
	}
	return &request.ConnectOptions{
		Kind: req.Kind.Kind, Container: o.Container, Stdin: o.Stdin, TTY: o.TTY, Path: o.Path, Ports: o.Ports,
	}, nil
}
