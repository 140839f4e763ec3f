package policy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sallyport-io/sallyport/internal/engine/call"
	"github.com/sallyport-io/sallyport/internal/review/pod"
	"github.com/sallyport-io/sallyport/internal/review/request"
)

// TestRelabelsBySubresource says which requests change labels or annotations by way of
// the status and other subresources that are written as the whole object.
func TestRelabelsBySubresource(t *testing.T) {
	object := func(label, annotation string) *pod.Object {
		return &pod.Object{Meta: &metav1.ObjectMeta{Labels: map[string]string{"a": label}, Annotations: map[string]string{"a": annotation}}}
	}
	for name, c := range map[string]struct {
		operation    request.Operation
		subresource  string
		before, then *pod.Object
		want         bool
	}{
		"a label":                   {request.Update, "status", object("1", "1"), object("2", "1"), true},
		"an annotation":             {request.Update, "status", object("1", "1"), object("1", "2"), true},
		"neither":                   {request.Update, "status", object("1", "1"), object("1", "1"), false},
		"of the object itself":      {request.Update, "", object("1", "1"), object("2", "1"), false},
		"by another object":         {request.Update, "scale", object("1", "1"), object("2", "1"), false},
		"of a namespace's end":      {request.Update, "finalize", object("1", "1"), object("2", "1"), true},
		"of an approval":            {request.Update, "approval", object("1", "1"), object("1", "2"), true},
		"by a creation":             {request.Create, "status", object("1", "1"), object("2", "1"), false},
		"what was there not shown":  {request.Update, "status", nil, object("2", "1"), false},
		"what is to come not shown": {request.Update, "status", object("1", "1"), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &request.Request{Operation: c.operation, Subresource: c.subresource, Kind: call.PodGVK, OldObject: c.before, Object: c.then}
			if c.subresource == "scale" {
				r.Kind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
			}
			if got := call.RelabelsBySubresource(r, call.PodGVK); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestTargets says by which name and in which namespace match blocks see an object.
func TestTargets(t *testing.T) {
	core := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	other := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Namespace"}
	for name, c := range map[string]struct {
		kind                    schema.GroupVersionKind
		asked                   string
		meta                    metav1.ObjectMeta
		called, generated, in   string
		labelledLikeItsOwnSpace bool
	}{
		"named, which the request does not repeat": {call.PodGVK, "", metav1.ObjectMeta{Name: "web"}, "web", "", "shop", false},
		"named by the request":                     {call.PodGVK, "web", metav1.ObjectMeta{}, "web", "", "shop", false},
		"to be named":                              {call.PodGVK, "", metav1.ObjectMeta{GenerateName: "web-"}, "", "web-", "shop", false},
		"a namespace":                              {core, "shop", metav1.ObjectMeta{Name: "shop"}, "shop", "", "", true},
		"what another group calls so":              {other, "shop", metav1.ObjectMeta{Name: "shop"}, "shop", "", "shop", false},
	} {
		t.Run(name, func(t *testing.T) {
			c.meta.Labels = map[string]string{"of": "the object"}
			r := &request.Request{Kind: c.kind, Name: c.asked, Namespace: "shop", Operation: request.Create, Object: &pod.Object{GVK: c.kind, Meta: &c.meta},
				Cluster: clusterOf(t, namespace("shop", map[string]string{"of": "its namespace"}))}
			asked := &call.Call{Ctx: t.Context(), Request: r}
			got := asked.Target()
			if asked.Target() != got {
				t.Error("it is made again for each rule")
			}
			if got.Kind != c.kind || got.Name != c.called || got.GenerateName != c.generated || got.Namespace != c.in {
				t.Errorf("%+v", got)
			}
			if labels, err := got.NamespaceLabels(); err != nil || (labels["of"] == "the object") != c.labelledLikeItsOwnSpace {
				t.Errorf("labels of its namespace %v, %v", labels, err)
			}
		})
	}
}
