package call

import (
	"cmp"
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/sallyport-io/sallyport/internal/excuse/breakglass"
	"github.com/sallyport-io/sallyport/internal/excuse/exception"
	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/rules/match"
	"github.com/sallyport-io/sallyport/internal/rules/risk"
	"github.com/sallyport-io/sallyport/internal/text/redact"
)

// Call is one request while it is decided, with what was read for it.
type Call struct {
	Ctx     context.Context
	Request *request.Request
	Access  *Access
	// Exceptions may excuse what fails.
	Exceptions *exception.Set
	// Here says which DenyPolicies name the cluster.
	Here       []bool
	Breakglass *breakglass.Set

	// Active are the user's sessions.
	Active       []breakglass.Grant
	sessionsRead bool
	// Only is the one of them that may let the user into pods; nil: each may.
	Only *breakglass.Grant
	// Uses are what these sessions let the user into.
	Uses []SessionUse
	// Trial is set where the request is judged at another time: what excuses it is
	// not counted as used.
	Trial bool

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

	AsJSON    json.RawMessage
	AsJSONErr error

	pods     []Entered
	podsErr  error
	podsRead bool
}

// Entered is a pod that an access gets into.
type Entered struct {
	pod.Pod
	Namespace, Name string
	// Container is the default one, where the request names none.
	Container  string
	assessment *risk.Assessment
}

// Assess finds the risk factors of the pod once, however many policies judge it.
func (e *Entered) Assess() *risk.Assessment {
	if e.assessment == nil {
		e.assessment = risk.Assess(&e.Pod)
	}
	return e.assessment
}

// ContainerFor says which container of the pod the access enters, and what the
// reason calls it. An admission request without one means the pod's default
// container. A review at the access door never carries the container: any may be
// entered, so none is taken for entered, whatever a caller on the command line
// says it would be.
func (e *Entered) ContainerFor(c *Call) (container, name string) {
	if c.Request.Door == request.Admission {
		container = cmp.Or(c.Access.Container, e.Container)
		return container, container
	}
	return "", cmp.Or(c.Access.Container, "any")
}

// NamespaceLabels reads the labels of the request's namespace once.
func (c *Call) NamespaceLabels() (map[string]string, error) {
	if !c.labelsRead {
		c.labelsRead = true
		ns, err := c.Request.Cluster.Namespace(c.Ctx, c.Request.Namespace)
		if err != nil {
			c.labelsErr = Reading("namespace "+c.Request.Namespace, err)
		} else {
			c.labels = ns.Labels
		}
	}
	return c.labels, c.labelsErr
}

// LabelsOf reads the labels of any namespace.
func (c *Call) LabelsOf(namespace string) func() (map[string]string, error) {
	if namespace == c.Request.Namespace {
		return c.NamespaceLabels
	}
	return func() (map[string]string, error) {
		ns, err := c.Request.Cluster.Namespace(c.Ctx, namespace)
		if err != nil {
			return nil, Reading("namespace "+namespace, err)
		}
		return ns.Labels, nil
	}
}

// EnteredPods reads the pods that the access gets into, once: one, or all of a
// node.
func (c *Call) EnteredPods() ([]Entered, error) {
	if c.podsRead {
		return c.pods, c.podsErr
	}
	c.podsRead = true
	a := c.Access
	switch {
	case a.Pod == "" && a.Node == "":
		c.podsErr = errNothingNamed
	case a.object != nil:
		if len(a.object.Pods) != 1 {
			c.podsErr = ErrNoPodInRequest
			break
		}
		p := a.object.Pods[0]
		p.Live = true
		c.pods = []Entered{{Pod: p, Namespace: a.Namespace, Name: a.Pod}}
	case a.Node != "":
		var live []*corev1.Pod
		live, c.podsErr = c.Request.Cluster.PodsOnNode(c.Ctx, a.Node)
		c.podsErr = Reading("node "+a.Node, c.podsErr)
		for _, p := range live {
			c.pods = append(c.pods, Entered{Pod: pod.FromPod(p), Namespace: p.Namespace, Name: p.Name})
		}
	default:
		live, err := c.Request.Cluster.Pod(c.Ctx, a.Namespace, a.Pod)
		if c.podsErr = Reading("pod "+a.Namespace+"/"+a.Pod, err); err == nil {
			c.pods = []Entered{{Pod: pod.FromPod(live), Namespace: a.Namespace, Name: a.Pod, Container: pod.DefaultContainer(live)}}
		}
	}
	return c.pods, c.podsErr
}

// Resource names what the request is about: for an access the pod or node that
// is entered, else the object.
func (c *Call) Resource() decision.Resource {
	r := c.Request
	if c.Access != nil {
		if c.Access.Node != "" {
			return decision.Resource{APIVersion: "v1", Kind: "Node", Name: c.Access.Node}
		}
		return decision.Resource{APIVersion: "v1", Kind: "Pod", Namespace: c.Access.Namespace, Name: c.Access.Pod}
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
