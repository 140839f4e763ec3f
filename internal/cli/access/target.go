package access

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/app/usage"
	"github.com/sallyport-io/sallyport/internal/engine/deny"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
	"github.com/sallyport-io/sallyport/internal/text/apijson"
)

// Target is what an access gets into, and how.
type Target struct {
	node            bool
	Subresource     string
	Namespace, Name string
}

// parseTarget reads the arguments of access.
func parseTarget(subresource, name string) (Target, error) {
	if !slices.Contains(deny.AccessPoints, subresource) {
		return Target{}, usage.Errorf("%q is not a way into a pod; %s are%s", subresource, strings.Join(deny.AccessPoints, ", "), meantWay(subresource))
	}
	if subresource == "nodes/proxy" {
		if name == "" || strings.Contains(name, "/") {
			return Target{}, usage.Errorf("%q is not the name of a node; nodes/proxy is followed by one", name)
		}
		return Target{node: true, Subresource: "proxy", Name: name}, nil
	}
	namespace, pod, ok := strings.Cut(name, "/")
	if !ok || namespace == "" || pod == "" || strings.Contains(pod, "/") {
		return Target{}, usage.Errorf("%q names no pod; NAMESPACE/POD is expected", name)
	}
	return Target{Subresource: subresource, Namespace: namespace, Name: pod}, nil
}

// otherWays are other names of the ways in: those of kubectl.
var otherWays = map[string]string{
	"debug": "ephemeralcontainers", "ephemeralcontainer": "ephemeralcontainers", "logs": "log", "port-forward": "portforward",
	"cp": "exec", "run": "attach", "node/proxy": "nodes/proxy",
}

// meantWay ends a sentence with the way in that was most likely meant.
func meantWay(subresource string) string {
	name := strings.TrimPrefix(strings.ToLower(subresource), "pods/")
	meant := otherWays[name]
	for _, way := range deny.AccessPoints {
		if way == name || meant == "" && apijson.Misspelt(name, map[string]bool{way: true}) != "" {
			meant = way
		}
	}
	if meant == "" {
		return ""
	}
	return "; did you mean " + meant + "?"
}

// point is how the way in was named.
func (t Target) point() string {
	if t.node {
		return "nodes/proxy"
	}
	return t.Subresource
}

// Resource is what is entered, as reviews name it.
func (t Target) Resource() schema.GroupVersionResource {
	if t.node {
		return schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	}
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

// verbs are those that the way in can be asked for with. A proxy passes on every
// HTTP method.
func (t Target) verbs() []string {
	switch t.Subresource {
	case "log":
		return []string{"get"}
	case "ephemeralcontainers":
		return []string{"patch", "update", "get"}
	case "proxy":
		return []string{"create", "get", "update", "patch", "delete"}
	default:
		return []string{"create", "get"}
	}
}

// UsualVerb is the one that kubectl sends.
func (t Target) UsualVerb() string { return t.verbs()[0] }

// optionKinds are the kinds of what a CONNECT carries.
var optionKinds = map[string]string{
	"exec": "PodExecOptions", "attach": "PodAttachOptions", "portforward": "PodPortForwardOptions",
	"proxy": "PodProxyOptions", "nodes/proxy": "NodeProxyOptions",
}

// connect completes the request for the admission door: with a CONNECT, or for
// an ephemeral container with the update of the pod that adds it.
func (t Target) connect(ctx context.Context, container string, r *request.Request) error {
	switch t.point() {
	case "log":
		return usage.Errorf("reading a log does not pass admission; it is judged only at --door access")
	case "ephemeralcontainers":
		return t.debug(ctx, container, r)
	}
	r.Operation = request.Connect
	r.Kind = schema.GroupVersionKind{Version: "v1", Kind: optionKinds[t.point()]}
	// What is run, and by which path a proxy goes, is not known here.
	body := map[string]any{"apiVersion": "v1", "kind": r.Kind.Kind}
	if container != "" {
		body["container"] = container
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("the options of %s cannot be written as JSON: %w", t.point(), err)
	}
	r.Options = &request.ConnectOptions{Kind: r.Kind.Kind, Container: container, Body: request.Hide(raw)}
	return nil
}

// debug makes the request that kubectl debug leads to: the pod with an ephemeral
// container more.
func (t Target) debug(ctx context.Context, container string, r *request.Request) error {
	before, err := r.Cluster.Pod(ctx, t.Namespace, t.Name)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("pod %s/%s is not there: at the admission door an ephemeral container is an update of its pod, which cannot be made up without one; name a pod that stands in the files of -p or in the cluster, or leave out --door admission, where the policy's failMode answers", t.Namespace, t.Name)
	case err != nil:
		return fmt.Errorf("pod %s/%s, which the ephemeral container is added to, cannot be read: %w", t.Namespace, t.Name, err)
	}
	if container == "" {
		container = "debugger"
	}
	whole := pod.FromPod(before)
	for c := range whole.Containers() {
		if c.Name == container {
			return usage.Errorf("-c names the ephemeral container that is added, and pod %s/%s has a container %q already; give another name, or leave -c out", t.Namespace, t.Name, container)
		}
	}
	after := before.DeepCopy()
	after.Spec.EphemeralContainers = append(after.Spec.EphemeralContainers, corev1.EphemeralContainer{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: container, Image: "debug"},
	})
	r.Operation = request.Update
	r.Kind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	if r.OldObject, err = objectOf(before); err != nil {
		return err
	}
	r.Object, err = objectOf(after)
	return err
}

// objectOf makes an Object of a pod that was read.
func objectOf(p *corev1.Pod) (*pod.Object, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("pod %s/%s cannot be written as JSON: %w", p.Namespace, p.Name, err)
	}
	return pod.Default().Decode(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, raw)
}
