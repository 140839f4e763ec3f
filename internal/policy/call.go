package policy

import (
	"context"

	"github.com/sallyport-io/sallyport/internal/decision"
	"github.com/sallyport-io/sallyport/internal/pod"
	"github.com/sallyport-io/sallyport/internal/request"
)

// call is one request while it is decided, with what was read for it.
type call struct {
	ctx     context.Context
	request *request.Request
	access  *access

	labels     map[string]string
	labelsErr  error
	labelsRead bool

	pods     []pod.Pod
	podNames []podName
	podsErr  error
	podsRead bool
}

type podName struct{ namespace, name string }

// namespaceLabels reads the labels of the request's namespace once.
func (c *call) namespaceLabels() (map[string]string, error) {
	if !c.labelsRead {
		c.labelsRead = true
		ns, err := c.request.Cluster.Namespace(c.ctx, c.request.Namespace)
		if err != nil {
			c.labelsErr = err
		} else {
			c.labels = ns.Labels
		}
	}
	return c.labels, c.labelsErr
}

// labelsOf reads the labels of any namespace.
func (c *call) labelsOf(namespace string) func() (map[string]string, error) {
	if namespace == c.request.Namespace {
		return c.namespaceLabels
	}
	return func() (map[string]string, error) {
		ns, err := c.request.Cluster.Namespace(c.ctx, namespace)
		if err != nil {
			return nil, err
		}
		return ns.Labels, nil
	}
}

// entered reads the pods that the access gets into, once: one, or all of a node.
func (c *call) entered() ([]pod.Pod, []podName, error) {
	if c.podsRead {
		return c.pods, c.podNames, c.podsErr
	}
	c.podsRead = true
	a := c.access
	switch {
	case a.object != nil:
		for _, p := range a.object.Pods {
			p.Live = true
			c.pods = append(c.pods, p)
			c.podNames = append(c.podNames, podName{a.namespace, a.pod})
		}
		if len(c.pods) != 1 {
			c.podsErr = errNoPodInRequest
		}
	case a.node != "":
		live, err := c.request.Cluster.PodsOnNode(c.ctx, a.node)
		c.podsErr = err
		for _, p := range live {
			c.pods = append(c.pods, pod.FromPod(p))
			c.podNames = append(c.podNames, podName{p.Namespace, p.Name})
		}
	default:
		live, err := c.request.Cluster.Pod(c.ctx, a.namespace, a.pod)
		c.podsErr = err
		if err == nil {
			c.pods = append(c.pods, pod.FromPod(live))
			c.podNames = append(c.podNames, podName{a.namespace, a.pod})
		}
	}
	return c.pods, c.podNames, c.podsErr
}

// resource names what the request is about: for an access the pod or node that
// is entered, else the object.
func (c *call) resource() decision.Resource {
	r := c.request
	if c.access != nil {
		if c.access.node != "" {
			return decision.Resource{APIVersion: "v1", Kind: "Node", Name: c.access.node}
		}
		return decision.Resource{APIVersion: "v1", Kind: "Pod", Namespace: c.access.namespace, Name: c.access.pod}
	}
	if r.Object != nil {
		apiVersion, kind := r.Object.GVK.ToAPIVersionAndKind()
		return decision.Resource{APIVersion: apiVersion, Kind: kind, Namespace: r.Namespace, Name: r.Name}
	}
	apiVersion := r.Resource.GroupVersion().String()
	kind := r.Kind.Kind
	if kind == "" {
		kind = r.Resource.Resource
	}
	return decision.Resource{APIVersion: apiVersion, Kind: kind, Namespace: r.Namespace, Name: r.Name}
}
