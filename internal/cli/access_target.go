package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/pod"
	"github.com/sallyport-io/sallyport/internal/request"
)

// subresources are the ways in that access knows.
var subresources = []string{"exec", "attach", "portforward", "ephemeralcontainers", "proxy", "log", "nodes/proxy"}

// target is what an access gets into, and how.
type target struct {
	node            bool
	subresource     string
	namespace, name string
}

// parseTarget reads the arguments of access.
func parseTarget(subresource, name string) (target, error) {
	if !slices.Contains(subresources, subresource) {
		return target{}, usagef("%q is no way into a pod; %s are", subresource, strings.Join(subresources, ", "))
	}
	if subresource == "nodes/proxy" {
		if name == "" || strings.Contains(name, "/") {
			return target{}, usagef("%q is no name of a node; nodes/proxy is followed by one", name)
		}
		return target{node: true, subresource: "proxy", name: name}, nil
	}
	namespace, pod, ok := strings.Cut(name, "/")
	if !ok || namespace == "" || pod == "" || strings.Contains(pod, "/") {
		return target{}, usagef("%q names no pod; NAMESPACE/POD is expected", name)
	}
	return target{subresource: subresource, namespace: namespace, name: pod}, nil
}

// point is how the way in was named.
func (t target) point() string {
	if t.node {
		return "nodes/proxy"
	}
	return t.subresource
}

func (t target) resource() schema.GroupVersionResource {
	if t.node {
		return schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	}
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

// verbs are those that the way in can be asked for with. A proxy passes on every
// HTTP method.
func (t target) verbs() []string {
	switch t.subresource {
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

func (t target) usualVerb() string { return t.verbs()[0] }

// optionKinds are the kinds of what a CONNECT carries.
var optionKinds = map[string]string{
	"exec": "PodExecOptions", "attach": "PodAttachOptions", "portforward": "PodPortForwardOptions",
	"proxy": "PodProxyOptions", "nodes/proxy": "NodeProxyOptions",
}

// connect completes the request for the admission door: with a CONNECT, or for
// an ephemeral container with the update of the pod that adds it.
func (t target) connect(ctx context.Context, container string, r *request.Request) error {
	switch t.point() {
	case "log":
		return usagef("reading a log does not pass admission; it is judged at --door access alone")
	case "ephemeralcontainers":
		return t.debug(ctx, container, r)
	}
	r.Operation = request.Connect
	r.Kind = schema.GroupVersionKind{Version: "v1", Kind: optionKinds[t.point()]}
	r.Options = &request.ConnectOptions{Kind: r.Kind.Kind, Container: container}
	return nil
}

// debug makes the request that kubectl debug leads to: the pod with an ephemeral
// container more.
func (t target) debug(ctx context.Context, container string, r *request.Request) error {
	before, err := r.Cluster.Pod(ctx, t.namespace, t.name)
	if err != nil {
		return fmt.Errorf("an ephemeral container cannot be added: %w", err)
	}
	if container == "" {
		container = "debugger"
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
