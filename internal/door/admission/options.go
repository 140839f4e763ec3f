package admission

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/door"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
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

// connectOptions are the fields of all of those kinds that a decision of ours turns
// on. What an exec runs is not among them: it is only for policies, and no error
// in reading it can show it.
type connectOptions struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Container  string  `json:"container"`
	Stdin      bool    `json:"stdin"`
	TTY        bool    `json:"tty"`
	Path       string  `json:"path"`
	Ports      []int32 `json:"ports"`
}

// entered checks that a CONNECT says what it enters. What is entered through the
// core group is all known; a request that leads elsewhere, or that names nothing,
// is none that an API server sends, and no policy could judge it.
func entered(req *request.Request, raw apijson.Raw) error {
	resource, subresource := req.Resource.Resource, req.Subresource
	if req.Resource.Group != "" {
		for point, kind := range optionKinds {
			if req.Kind.Group == "" && req.Kind.Kind == kind {
				return door.Malformed("request.kind is %s, which belongs to a CONNECT to %s/%s of the core group; request.resource is %s of group %q",
					kind, point[0], point[1], resource, req.Resource.Group)
			}
		}
		return nil
	}
	want := optionKinds[[2]string{resource, subresource}]
	switch {
	case want == "" && subresource == "":
		return door.Malformed("request.subResource is missing: a CONNECT to %s cannot be judged without it; it is one of %s", resource, points())
	case want == "":
		return door.Malformed("a CONNECT to %s/%s of the core group is not known, and so cannot be judged; known are %s", resource, subresource, points())
	case req.Name == "":
		return door.Malformed("request.name is missing: a CONNECT to %s/%s names what it enters", resource, subresource)
	case req.Namespace == "" && resource != "nodes":
		return door.Malformed("request.namespace is missing: a CONNECT to %s/%s says in which namespace that is", resource, subresource)
	case req.Kind.Kind != want || req.Kind.Group != "":
		return door.Malformed("request.kind is %s of group %q, a CONNECT to %s/%s carries %s",
			req.Kind.Kind, req.Kind.Group, resource, subresource, want)
	case raw.IsNull():
		return door.Malformed("request.object is missing: a CONNECT to %s/%s carries its %s there", resource, subresource, want)
	}
	return nil
}

// points lists what a CONNECT to the core group can lead to.
func points() string {
	var all []string
	for point := range optionKinds {
		all = append(all, point[0]+"/"+point[1])
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// options reads the options of a CONNECT. Where the pod, the node or the service
// is entered through the core group, they must be there and of the right kind;
// any other CONNECT has those that it has.
func options(req *request.Request, raw apijson.Raw) (*request.ConnectOptions, error) {
	if err := entered(req, raw); err != nil {
		return nil, err
	}
	if raw.IsNull() {
		return &request.ConnectOptions{Kind: req.Kind.Kind}, nil
	}
	var o connectOptions
	if err := apijson.Unmarshal(raw, &o); err != nil {
		return nil, door.Malformed("request.object cannot be read as %s: %w", decision.A(req.Kind.Kind), err)
	}
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return nil, door.Malformed("request.object.apiVersion is %q, which is not a group and version", o.APIVersion)
	}
	if err := sameKind("object", req.Kind, gv.WithKind(o.Kind)); err != nil {
		return nil, err
	}
	return &request.ConnectOptions{
		Kind: req.Kind.Kind, Container: o.Container, Stdin: o.Stdin, TTY: o.TTY, Path: o.Path, Ports: o.Ports,
		Body: request.Hide(raw),
	}, nil
}
