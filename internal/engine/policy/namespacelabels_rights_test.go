package policy

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/review/decision"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// The right on one policy is not that on another, a right in a namespace is not one
// in the cluster, and where nobody can be asked nothing passes.
func TestRightOverLabelsOfNamespaces(t *testing.T) {
	compiled := setOf(t, exemptingTerms, strings.Replace(exemptingTerms, "name: strict", "name: other", 1), strings.Replace(ofItsOwn, "NAMESPACE", "shop", 1))
	one := rbacv1.PolicyRule{APIGroups: []string{"sallyport.io"}, Resources: []string{"denypolicies"}, ResourceNames: []string{"strict"}, Verbs: []string{"exempt"}}
	all := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	inside := boundTo("dora", "all")
	within := &rbacv1.RoleBinding{ObjectMeta: inside.ObjectMeta, RoleRef: inside.RoleRef, Subjects: inside.Subjects}
	within.Namespace = "shop"
	state := clusterOf(t, namespace("shop", nil), clusterRole("one", one), boundTo("carol", "one"), clusterRole("all", all), within)
	failed := func(user string, before, after set) string {
		var names []string
		for _, r := range resultsAboutLabels(compiled.Decide(t.Context(), relabelRequest(t, state, user, before, after))) {
			if r.Status != decision.Pass {
				names = append(names, r.Policy+" "+string(r.Status))
			}
		}
		return strings.Join(names, ", ")
	}
	if got := failed("carol", set{}, set{"env": "dev"}); got != "other fail" {
		t.Errorf("with the right on one policy: %q", got)
	}
	if got := failed("dora", set{}, set{"env": "dev"}); got != "other fail, strict fail" {
		t.Errorf("with all rights in the namespace: %q", got)
	}
	if got := failed("dora", set{"env": "prod"}, set{}); got != "" {
		t.Errorf("with all rights in the namespace, of a Policy there: %q", got)
	}
	for name, r := range map[string]*request.Request{
		"unreadable": relabelRequest(t, unreadable{}, "alice", set{}, set{"env": "dev"}),
		"nobody":     relabelRequest(t, state, "alice", set{}, set{"env": "dev"}),
	} {
		if name == "nobody" {
			r.Authorizer = nil
		}
		d := compiled.Decide(t.Context(), r)
		if results := resultsAboutLabels(d); len(results) != 1 || results[0].Status != decision.Error || !d.Refuses() {
			t.Errorf("%s: %+v", name, results)
		}
	}
}

// What writes namespaces otherwise is asked nothing, and subresources are not a way
// around.
func TestWaysToRelabelNamespaces(t *testing.T) {
	compiled := setOf(t, exemptingTerms)
	state := clusterOf(t, namespace("shop", nil))
	for _, test := range []struct {
		name    string
		change  func(*request.Request)
		refused bool
	}{
		{"update", func(*request.Request) {}, true},
		{"status", func(r *request.Request) { r.Subresource = "status" }, true},
		{"finalize", func(r *request.Request) { r.Subresource = "finalize" }, true},
		{"deleted", func(r *request.Request) { r.Operation, r.OldObject, r.Object = request.Delete, r.Object, nil }, false},
		{"a custom kind", func(r *request.Request) {
			r.Object.GVK.Group, r.Resource.Group, r.Kind.Group = "example.com", "example.com", "example.com"
		}, false},
		{"scanned", func(r *request.Request) { r.Background = true }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := relabelRequest(t, state, "alice", set{}, set{"env": "dev"})
			test.change(r)
			d := compiled.Decide(t.Context(), r)
			if found := len(resultsAboutLabels(d)) > 0; found != test.refused || d.Refuses() != test.refused {
				t.Errorf("refused: %v, want %v: %+v", found, test.refused, d.Results)
			}
		})
	}
	var nothing Set
	if d := nothing.Decide(t.Context(), relabelRequest(t, state, "alice", set{}, set{"env": "dev"})); len(d.Results) > 0 {
		t.Errorf("the empty set: %+v", d.Results)
	}
}

// TestLabelsOfOtherObjects asks for no right to label what is not a namespace, or not
// one of the core group.
func TestLabelsOfOtherObjects(t *testing.T) {
	compiled := setOf(t, exemptingTerms)
	for name, c := range map[string]struct {
		gvk      schema.GroupVersionKind
		resource string
		asked    int
	}{
		"a namespace":                 {schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "namespaces", 1},
		"a namespace of another kind": {schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Namespace"}, "namespaces", 0},
		"a ConfigMap":                 {configMapKind, "configmaps", 0},
	} {
		t.Run(name, func(t *testing.T) {
			apiVersion, kind := c.gvk.ToAPIVersionAndKind()
			r := created(t, clusterOf(t), c.gvk, c.resource, "{apiVersion: "+apiVersion+", kind: "+kind+", metadata: {name: shop, labels: {env: dev}}}")
			if found := resultsAboutLabels(compiled.Decide(t.Context(), r)); len(found) != c.asked {
				t.Errorf("%+v", found)
			}
		})
	}
}
