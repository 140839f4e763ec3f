package policy

import (
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// access is a request to get into, or at, something that runs.
type access struct {
	// resource is "pods" or "nodes", subresource as in the URL.
	resource, subresource string
	namespace, pod, node  string
	// container that is entered as far as the request names it.
	container string
	// object is the pod as it will be, where the request carries it.
	object *pod.Object
}

// point is how a DenyPolicy names the way in: "exec", or "nodes/proxy".
func (a *access) point() string {
	if a.resource == "nodes" {
		return "nodes/" + a.subresource
	}
	return a.subresource
}

// what names in words what is read to judge the access.
func (a *access) what() string {
	if a.resource == "nodes" {
		return "the pods of the node"
	}
	return "the pod"
}

// accessOf finds out whether a request is an access. A KubeVirt
// virtualmachineinstances/portforward is not one: only the core group's pods and
// nodes are.
func accessOf(r *request.Request) (access, bool) {
	if r.Resource.Group != "" {
		return access{}, false
	}
	a := access{resource: r.Resource.Resource, subresource: r.Subresource, namespace: r.Namespace}
	switch {
	case a.resource == "pods" && a.subresource == "ephemeralcontainers":
		// Reading the list of ephemeral containers enters nothing.
		if readOnly(r.Verb) {
			return access{}, false
		}
		if r.Door == request.Admission {
			if r.Operation != request.Update {
				return access{}, false
			}
			a.object = r.Object
			a.container = addedContainer(r.Object, r.OldObject)
		}
	case a.resource == "pods" && isPodAccess(a.subresource):
		if r.Options != nil {
			a.container = r.Options.Container
		}
	case a.resource == "nodes" && a.subresource == "proxy":
		a.node = withoutSchemeAndPort(r.Name)
		return a, a.node != "" || r.Door == request.Admission
	default:
		return access{}, false
	}
	a.pod = r.Name
	if a.subresource == "proxy" {
		a.pod = withoutSchemeAndPort(r.Name)
	}
	// A review that names no pod is a question about all of them (kubectl auth
	// can-i create pods --subresource=exec). Nothing can be entered by it: the
	// API server asks again, with the name, when somebody tries. At the admission
	// door somebody does try: there, the fail mode answers.
	return a, a.pod != "" || r.Door == request.Admission
}

func isPodAccess(subresource string) bool {
	switch subresource {
	case "exec", "attach", "portforward", "proxy", "log":
		return true
	}
	return false
}

func readOnly(verb string) bool { return verb == "get" || verb == "list" || verb == "watch" }

// addedContainer names the ephemeral container that an update adds, or nothing
// where it adds none or several.
func addedContainer(object, old *pod.Object) string {
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

// withoutSchemeAndPort takes the name out of the forms that the proxy
// subresources take. A name that has none of these forms is kept as it is: no
// object is called so, and the fail mode decides.
func withoutSchemeAndPort(id string) string {
	if _, name, _, ok := utilnet.SplitSchemeNamePort(id); ok {
		return name
	}
	return id
}
