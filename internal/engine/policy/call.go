package policy

import (
	"cmp"
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/pass"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
	"github.com/sallyport-io/sallyport/internal/text/redact"
)

// call is one request while it is decided, with what was read for it.
type call struct {
	ctx     context.Context
	request *request.Request
	access  *access
	// passes may excuse what fails.
	passes *pass.Set
	// here says which DenyPolicies name the cluster.
	here       []bool
	breakglass *breakglass.Set

	// active are the user's sessions.
	active       []breakglass.Grant
	sessionsRead bool
	// only is the one of them that may let the user into pods; nil: each may.
	only *breakglass.Grant
	// uses are what these sessions let the user into.
	uses []sessionUse
	// trial is set where the request is judged at another time: what excuses it is
	// not counted as used.
	trial bool

	matched *match.Target

	maker     *maker
	makerWhy  string
	makerRead bool

	roles, clusterRoles []string
	rolesErr            error
	rolesRead           bool

	labels     map[string]string
	labelsErr  error
	labelsRead bool

	// write are the options of a write.
	write     map[string]any
	writeErr  error
	writeRead bool
	// options are those of a CONNECT, and words what of them is never shown.
	options     map[string]any
	optionsErr  error
	optionsRead bool
	words       *redact.Words

	asJSON    json.RawMessage
	asJSONErr error

	pods     []entered
	podsErr  error
	podsRead bool
}

// entered is a pod that an access gets into.
type entered struct {
	pod.Pod
	namespace, name string
	// container is the default one, where the request names none.
	container  string
	assessment *risk.Assessment
}

// assess finds the risk factors of the pod once, however many policies judge it.
func (e *entered) assess() *risk.Assessment {
	if e.assessment == nil {
		e.assessment = risk.Assess(&e.Pod)
	}
	return e.assessment
}

// containerFor says which container of the pod the access enters, and what the
// reason calls it. An admission request without one means the pod's default
// container. A review at the access door never carries the container: any may be
// entered, so none is taken for entered, whatever a caller on the command line
// says it would be.
func (e *entered) containerFor(c *call) (container, name string) {
	if c.request.Door == request.Admission {
		container = cmp.Or(c.access.container, e.container)
		return container, container
	}
	return "", cmp.Or(c.access.container, "any")
}

// namespaceLabels reads the labels of the request's namespace once.
func (c *call) namespaceLabels() (map[string]string, error) {
	if !c.labelsRead {
		c.labelsRead = true
		ns, err := c.request.Cluster.Namespace(c.ctx, c.request.Namespace)
		if err != nil {
			c.labelsErr = reading("namespace "+c.request.Namespace, err)
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
			return nil, reading("namespace "+namespace, err)
		}
		return ns.Labels, nil
	}
}

// enteredPods reads the pods that the access gets into, once: one, or all of a
// node.
func (c *call) enteredPods() ([]entered, error) {
	if c.podsRead {
		return c.pods, c.podsErr
	}
	c.podsRead = true
	a := c.access
	switch {
	case a.pod == "" && a.node == "":
		c.podsErr = errNothingNamed
	case a.object != nil:
		if len(a.object.Pods) != 1 {
			c.podsErr = errNoPodInRequest
			break
		}
		p := a.object.Pods[0]
		p.Live = true
		c.pods = []entered{{Pod: p, namespace: a.namespace, name: a.pod}}
	case a.node != "":
		var live []*corev1.Pod
		live, c.podsErr = c.request.Cluster.PodsOnNode(c.ctx, a.node)
		c.podsErr = reading("node "+a.node, c.podsErr)
		for _, p := range live {
			c.pods = append(c.pods, entered{Pod: pod.FromPod(p), namespace: p.Namespace, name: p.Name})
		}
	default:
		live, err := c.request.Cluster.Pod(c.ctx, a.namespace, a.pod)
		if c.podsErr = reading("pod "+a.namespace+"/"+a.pod, err); err == nil {
			c.pods = []entered{{Pod: pod.FromPod(live), namespace: a.namespace, name: a.pod, container: pod.DefaultContainer(live)}}
		}
	}
	return c.pods, c.podsErr
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
