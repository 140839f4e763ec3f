package policy

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestAccessOf tells what gets into something that runs from what only sounds like it.
func TestAccessOf(t *testing.T) {
	for _, c := range []struct {
		door                          request.Door
		operation                     request.Operation
		verb, group, resource, sub, n string
		access                        bool
	}{
		{request.Access, "", "create", "", "pods", "exec", "web", true},
		{request.Access, "", "get", "", "pods", "log", "web", true},
		{request.Access, "", "create", "", "pods", "", "web", false},
		{request.Access, "", "create", "", "pods", "binding", "web", false},
		{request.Access, "", "create", "", "pods", "exec", "", false},
		{request.Access, "", "create", "", "services", "proxy", "web", false},
		{request.Access, "", "create", "", "services", "ephemeralcontainers", "web", false},
		{request.Access, "", "create", "metrics.k8s.io", "pods", "log", "web", false},
		{request.Access, "", "get", "", "nodes", "proxy", "n1", true},
		{request.Access, "", "get", "", "nodes", "proxy", "", false},
		{request.Access, "", "get", "", "nodes", "metrics", "n1", false},
		{request.Access, "", "get", "", "nodes", "log", "n1", false},
		{request.Access, "", "patch", "", "pods", "ephemeralcontainers", "web", true},
		{request.Access, "", "get", "", "pods", "ephemeralcontainers", "web", false},
		{request.Access, "", "list", "", "pods", "ephemeralcontainers", "web", false},
		{request.Access, "", "watch", "", "pods", "ephemeralcontainers", "web", false},
		{request.Admission, request.Update, "", "", "pods", "ephemeralcontainers", "web", true},
		{request.Admission, request.Create, "", "", "pods", "ephemeralcontainers", "web", false},
		{request.Admission, request.Connect, "", "", "pods", "exec", "", true},
		{request.Admission, request.Connect, "", "", "nodes", "proxy", "", true},
		{request.Admission, request.Create, "", "", "pods", "binding", "web", false},
	} {
		r := &request.Request{Door: c.door, Operation: c.operation, Verb: c.verb, Subresource: c.sub, Namespace: "shop", Name: c.n}
		r.Resource.Group, r.Resource.Version, r.Resource.Resource = c.group, "v1", c.resource
		if _, ok := call.AccessOf(r); ok != c.access {
			t.Errorf("%s%s of %s %s/%s %q at the %s door: an access is %v", c.verb, c.operation, c.group, c.resource, c.sub, c.n, c.door, ok)
		}
	}
}

// TestAddedContainer names the ephemeral container that an update adds, if it is one.
func TestAddedContainer(t *testing.T) {
	with := func(names ...string) *corev1.Pod {
		return podNamed("shop", "web", func(p *corev1.Pod) {
			for _, name := range names {
				p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "d"}})
			}
		})
	}
	for _, c := range []struct {
		name       string
		old, after *corev1.Pod
		want       string
	}{
		{"the first", with(), with("a"), "a"},
		{"one more", with("a"), with("a", "b"), "b"},
		{"none", with("a"), with("a"), ""},
		{"several", with(), with("a", "b"), ""},
		{"nothing is known of what was there", nil, with("a"), "a"},
		{"nothing is known of what comes", with(), nil, ""},
	} {
		if got := call.AddedContainer(objectOf(t, c.after), objectOf(t, c.old)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := call.AddedContainer(objectOf(t, with("a")), created(t, unreadable{}, configMapKind, "configmaps", configMaps).Object); got != "a" {
		t.Errorf("what was there is not a pod: %q", got)
	}
	if got := call.AddedContainer(created(t, unreadable{}, configMapKind, "configmaps", configMaps).Object, nil); got != "" {
		t.Errorf("what comes is not a pod: %q", got)
	}
}

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// objectOf is a pod as a request carries it; nil for none.
func objectOf(t *testing.T, p *corev1.Pod) *pod.Object {
	t.Helper()
	if p == nil {
		return nil
	}
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	object, err := pod.Default().Decode(call.PodGVK, raw)
	if err != nil {
		t.Fatal(err)
	}
	return object
}
