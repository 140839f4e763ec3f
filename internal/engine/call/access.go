package call

import (
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// Access is a request to get into, or at, something that runs.
type Access struct {
	// Resource is "pods" or "nodes", subresource as in the URL.
	Resource, Subresource string
	Namespace, Pod, Node  string
	// Container that is entered as far as the request names it.
	Container string
	// object is the pod as it will be, where the request carries it.
	object *pod.Object
}

// Point is how a DenyPolicy names the way in: "exec", or "nodes/proxy".
func (a *Access) Point() string {
	if a.Resource == "nodes" {
		return "nodes/" + a.Subresource
	}
	return a.Subresource
}

// What names in words what is read to judge the access.
func (a *Access) What() string {
	if a.Resource == "nodes" {
		return "the pods of the node"
	}
	return "the pod"
}

// AccessOf finds out whether a request is an access. A KubeVirt
// virtualmachineinstances/portforward is not one: only the core group's pods and
// nodes are.
func AccessOf(r *request.Request) (Access, bool) {
	if r.Resource.Group != "" {
		return Access{}, false
	}
	a := Access{Resource: r.Resource.Resource, Subresource: r.Subresource, Namespace: r.Namespace}
	switch {
	case a.Resource == "pods" && a.Subresource == "ephemeralcontainers":
		// Reading the list of ephemeral containers enters nothing.
		if readOnly(r.Verb) {
			return Access{}, false
		}
		if r.Door == request.Admission {
			if r.Operation != request.Update {
				return Access{}, false
			}
			a.object = r.Object
			a.Container = AddedContainer(r.Object, r.OldObject)
		}
	case a.Resource == "pods" && isPodAccess(a.Subresource):
		if r.Options != nil {
			a.Container = r.Options.Container
		}
	case a.Resource == "nodes" && a.Subresource == "proxy":
		a.Node = WithoutSchemeAndPort(r.Name)
		return a, a.Node != "" || r.Door == request.Admission
	default:
		return Access{}, false
	}
	a.Pod = r.Name
	if a.Subresource == "proxy" {
		a.Pod = WithoutSchemeAndPort(r.Name)
	}
	// A review that names no pod is a question about all of them (kubectl auth
	// can-i create pods --subresource=exec). Nothing can be entered by it: the
	// API server asks again, with the name, when somebody tries. At the admission
	// door somebody does try: there, the fail mode answers.
	return a, a.Pod != "" || r.Door == request.Admission
}

func isPodAccess(subresource string) bool {
	switch subresource {
	case "exec", "attach", "portforward", "proxy", "log":
		return true
	}
	return false
}

func readOnly(verb string) bool { return verb == "get" || verb == "list" || verb == "watch" }

// AddedContainer names the ephemeral container that an update adds, or nothing
// where it adds none or several.
func AddedContainer(object, old *pod.Object) string {
	if object == nil || len(object.Pods) != 1 {
		return ""
	}
	before := map[string]bool{}
	if old != nil && len(old.Pods) == 1 {
		for c := range old.Pods[0].Containers() {
			if c.Kind == pod.Ephemeral {
				before[c.Name] = true
			}
		}
	}
	added := ""
	for c := range object.Pods[0].Containers() {
		if c.Kind != pod.Ephemeral || before[c.Name] {
			continue
		}
		if added != "" {
			return ""
		}
		added = c.Name
	}
	return added
}

// WithoutSchemeAndPort takes the name out of the forms that the proxy
// subresources take. A name that has none of these forms is kept as it is: no
// object is called so, and the fail mode decides.
func WithoutSchemeAndPort(id string) string {
	if _, name, _, ok := utilnet.SplitSchemeNamePort(id); ok {
		return name
	}
	return id
}
