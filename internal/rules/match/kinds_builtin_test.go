package match

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestBuiltinKindsAreTheClients holds the table of built-in kinds against the
// types of the client library: what has a list there is a resource.
func TestBuiltinKindsAreTheClients(t *testing.T) {
	known := scheme.Scheme.AllKnownTypes()
	for gvk := range known {
		list := gvk
		list.Kind += "List"
		if _, isResource := known[list]; !isResource || gvk.Kind == "APIGroup" || gvk.Version == "__internal" {
			continue
		}
		home := slices.IndexFunc(builtin[gvk.Kind], func(g *group) bool { return g.name == gvk.Group })
		if home < 0 {
			t.Errorf("the table lacks %v", gvk)
			continue
		}
		if g := builtin[gvk.Kind][home]; !slices.Contains(strings.Fields(g.versions), gvk.Version) {
			t.Errorf("the table lacks version %s of group %q", gvk.Version, g.name)
		}
	}
	for _, g := range builtinGroups {
		for _, kind := range strings.Fields(g.kinds) {
			// It is gone from the library, and there are clusters that still have it.
			if kind == "PodSecurityPolicy" {
				continue
			}
			if !slices.ContainsFunc(strings.Fields(g.versions), func(version string) bool {
				return scheme.Scheme.Recognizes(schema.GroupVersionKind{Group: g.name, Version: version, Kind: kind})
			}) {
				t.Errorf("no version of the group %q has the kind %s", g.name, kind)
			}
		}
	}
}

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		name                            string
		group, version, resource, sub   string
		object                          schema.GroupVersionKind
		wantGroup, wantVersion, wantOne string
	}{
		{"a pod", "", "v1", "pods", "", schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "", "v1", "Pod"},
		{"an exec at the admission door", "", "v1", "pods", "exec", schema.GroupVersionKind{Version: "v1", Kind: "PodExecOptions"}, "", "v1", "Pod"},
		{"an exec at the access door", "", "v1", "pods", "exec", schema.GroupVersionKind{}, "", "v1", "Pod"},
		{"a node's proxy", "", "v1", "nodes", "proxy", schema.GroupVersionKind{}, "", "v1", "Node"},
		{"an eviction", "", "v1", "pods", "eviction", schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, "", "v1", "Pod"},
		{"a scale", "apps", "v1", "deployments", "scale", schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, "apps", "v1", "Deployment"},
		{"endpoints", "", "v1", "endpoints", "", schema.GroupVersionKind{}, "", "v1", "Endpoints"},
		{"network policies", "networking.k8s.io", "v1", "networkpolicies", "", schema.GroupVersionKind{}, "networking.k8s.io", "v1", "NetworkPolicy"},
		{"ingress classes", "networking.k8s.io", "v1", "ingressclasses", "", schema.GroupVersionKind{}, "networking.k8s.io", "v1", "IngressClass"},
		{"a custom resource", "foo.io", "v1", "bars", "", schema.GroupVersionKind{Group: "foo.io", Version: "v1", Kind: "Bar"}, "foo.io", "v1", "Bar"},
		{"a subresource that is not known here", "foo.io", "v1", "bars", "scale", schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, "autoscaling", "v1", "Scale"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resource := schema.GroupVersionResource{Group: c.group, Version: c.version, Resource: c.resource}
			want := schema.GroupVersionKind{Group: c.wantGroup, Version: c.wantVersion, Kind: c.wantOne}
			if got := KindOf(resource, c.sub, c.object); got != want {
				t.Errorf("KindOf = %v, want %v", got, want)
			}
		})
	}
}
